// SPDX-License-Identifier: BSD-3-Clause
#include "config/denylist.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/ev_profile.h"

namespace mrc::config {
namespace {

/// The EVs of one entry.
Result<std::vector<path::EvIndex>> named_by(const DeniedEvConfig& d, const path::EvTable& table) {
  if ((d.index >= 0) == !d.ev.empty())
    return Error{"names no EV; give 'index', or 'ev' (its value, as results print it), not both"};
  if (d.index >= 0) {
    if (d.plane >= 0) return Error{"'plane' narrows a value; an index has its plane already"};
    if (static_cast<std::size_t>(d.index) >= table.size())
      return Error{fmt::format("{} but there are EVs 0 to {}", d.index, table.size() - 1)};
    return std::vector<path::EvIndex>{static_cast<path::EvIndex>(d.index)};
  }
  std::vector<path::EvIndex> found;
  const path::EvValue value = ev_bytes(d.ev);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].value == value && (d.plane < 0 || table[i].port == d.plane))
      found.push_back(static_cast<path::EvIndex>(i));
  }
  if (found.empty()) {
    return Error{d.plane < 0
                     ? fmt::format("no EV of the profile has the value {}", d.ev)
                     : fmt::format("no EV of the profile has the value {} on plane {}", d.ev, d.plane)};
  }
  return found;
}

}  // namespace

Result<std::vector<path::EvIndex>> denied_evs(const EvConfig& c, const path::EvTable& table) {
  std::vector<path::EvIndex> all;
  for (std::size_t i = 0; i < c.denied.size(); ++i) {
    const auto found = named_by(c.denied[i], table);
    if (!found) {
      const char* const key = c.denied[i].index >= 0 ? ".index" : c.denied[i].ev.empty() ? "" : ".ev";
      return Error{fmt::format("ev.denied[{}]{}: {}", i, key, found.error().message)};
    }
    all.insert(all.end(), found->begin(), found->end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (!all.empty() && all.size() == table.size())
    return Error{fmt::format("ev.denied: all {} EVs are on it; leave one at least to send on", table.size())};
  return all;
}

}  // namespace mrc::config
