// SPDX-License-Identifier: BSD-3-Clause
#include "demo_page.h"

#include <fmt/format.h>

#include "report/html/text.h"

namespace mrc::endpoint {

using report::html::bytes;
using report::html::duration;
using report::html::rate;

report::html::Page page_of(const DemoReport& r) {
  const DeathStory& d = r.death;
  report::html::Page page;
  page.title = "MRC demo: one QP over all planes, a path dies and returns";
  page.subtitle = fmt::format(
      "{} MiB over {} planes of {} paths, {} each way, seed {}; both ends, the network and the check "
      "of every byte on one core",
      r.bytes_verified >> 20, r.options.planes, r.options.paths, duration(r.options.delay.ns),
      r.options.seed);
  page.clock = r.options.poll_step.ns == 0 ? "real time, virtual fabric in this process"
                                           : "virtual time, virtual fabric";
  page.pass = r.pass();
  std::size_t missed = 0;
  for (const DemoCheck& c : r.checks) missed += c.ok || !c.judged ? 0 : 1;
  page.verdict = r.interrupted && r.pass() ? "interrupted: what ran is right"
                 : r.pass() ? fmt::format("pass: {} of {} checks hold", r.checks.size(), r.checks.size())
                            : fmt::format("FAIL: {} of {} checks do not hold", missed, r.checks.size());
  const bool repaired = d.repaired.ns != 0;
  const Duration repair = d.repaired - d.down;
  page.figures = {{"goodput", rate(r.rates.goodput_bps), fmt::format("L1 {}", rate(r.rates.l1_bps))},
                  {"bytes compared", bytes(r.bytes_verified), fmt::format("{} bad messages", r.messages_bad)},
                  {"repair after the death", repaired ? duration(repair.ns) : "–",
                   repaired ? fmt::format("{:.1f} RTTs of {}",
                                          static_cast<double>(repair.ns) / static_cast<double>(r.base_rtt.ns),
                                          duration(r.base_rtt.ns))
                            : ""},
                  {"lost on the dead path", fmt::format("{}", r.lost_on_dead_path),
                   fmt::format("{} at random on another", r.lost_at_random)},
                  {"retransmissions", fmt::format("{}", r.rtx), fmt::format("{} spurious", r.spurious)}};
  r.samples->fill(page);
  report::html::Table checks{"Checks", {"", "what must hold", "what was found"}, {}, true};
  for (const DemoCheck& c : r.checks) checks.rows.push_back({mark_of(c), c.what, c.found});
  page.tables.push_back(std::move(checks));
  report::html::Table planes{"Planes", {"plane", "data packets sent"}, {}, false};
  for (std::size_t p = 0; p < r.plane_pkts.size(); ++p)
    planes.rows.push_back({fmt::format("{}", p), fmt::format("{}", r.plane_pkts[p])});
  page.tables.push_back(std::move(planes));
  report::html::Table causes{"Retransmissions by cause", {"cause", "packets"}, {}, false};
  for (const auto& [cause, n] : r.rtx_by_cause) causes.rows.push_back({cause, fmt::format("{}", n)});
  page.tables.push_back(std::move(causes));
  page.texts.push_back({"As printed", to_text(r)});
  return page;
}

}  // namespace mrc::endpoint
