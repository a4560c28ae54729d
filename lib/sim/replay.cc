// SPDX-License-Identifier: BSD-3-Clause
#include "sim/replay.h"

namespace mrc::sim {

Result<std::vector<std::string>> replay(const Scenario& scenario, const RunEnd& end, Duration before) {
  auto world = World::create(scenario);
  if (!world) return world.error();
  std::vector<std::string> lines;
  const Time from = end.at - before;
  if (!(*world)->is_rc()) {
    Simulation& sim = (*world)->sim();
    sim.on_trace([&](const TraceEvent& e) {
      if (e.at >= from) lines.push_back(to_text(e));
    });
    sim.on_ev_event([&](QpId qp, const path::EvSet::Event& e) {
      if (e.at >= from) lines.push_back(to_text(qp, e));
    });
  }
  const RunEnd again = (*world)->run();
  if (again.violation != end.violation)
    return Error{"the run does not repeat itself: '" + end.violation + "' became '" + again.violation + "'"};
  lines.push_back("violated: " + again.violation);
  return lines;
}

}  // namespace mrc::sim
