// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/repair_chart.h"

#include <algorithm>
#include <array>
#include <utility>

namespace mrc::report::html {

TimeChart repair_chart(const Timeline& timeline, const RepairColumns& at, const std::string& about) {
  TimeChart c{"repair", "Retransmissions, trims, marks", "", Unit::kCount, Layout::kLines, {}, {}};
  c.about =
      about + " Trims and marks are congestion; inferred losses and flushed EVs are paths that fell silent.";
  c.absent = "Nothing was retransmitted, trimmed or marked.";
  constexpr std::array<const char*, kRepairCauses> kNames{
      "again: trimmed",  "again: no resource", "again: window", "again: inferred loss",
      "again: EV flush", "again: ACK timeout", "again: tail",   "again: plane down"};
  const auto add = [&](const char* name, std::size_t column) {
    std::vector<double> v = timeline.column(column);
    if (std::any_of(v.begin(), v.end(), [](double x) { return x > 0; }))
      c.series.push_back({name, std::move(v), {}, {}});
  };
  for (std::size_t i = 0; i < kNames.size(); ++i) add(kNames[i], at.causes + i);
  add("trimmed on arrival", at.trimmed);
  add("marked on arrival", at.marked);
  return c;
}

}  // namespace mrc::report::html
