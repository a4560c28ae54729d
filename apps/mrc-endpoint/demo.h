// SPDX-License-Identifier: BSD-3-Clause
// The demo: two endpoints in one process move gigabytes as one QP over the planes of the virtual fabric,
// while one path dies and returns and another loses packets; what must hold is checked and said.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "demo_story.h"
#include "exit_code.h"
#include "live_sampler.h"
#include "nic/stats.h"
#include "report/rates.h"

namespace mrc::endpoint {

struct DemoOptions {
  std::uint64_t bytes = 2ULL << 30;  ///< at least: data moves on until it went over the dead path again
  std::uint64_t seed = 1;
  std::uint32_t planes = 4;
  std::uint32_t paths = 8;             ///< of each plane
  Duration delay = microseconds(250);  ///< of each path, one way
  double loss = 0.001;                 ///< of one path
  double path_gbps = 1;                ///< of each path; 0: as fast as the core pumps
  config::CcMode cc = config::CcMode::kNscc;
  /// Test hook: virtual time, and this much of it passes with every round of polls. Then a run follows from
  /// its seed, and what other processes do to the machine does not show. Zero: the machine's clock.
  Duration poll_step{};
  /// Test hook: the packet with this number (from 0) is poisoned again after it arrived; -1: none.
  std::int64_t forget_message = -1;
  /// Test hook: the dead path comes up again right after it was taken down, so nothing can be detected.
  bool spare_path = false;
  bool sample = false;  ///< keep samples for an HTML report
  /// True: post no more, check what was posted, and tell what ran. Asked once a round; empty: never.
  std::function<bool(double progress)> stop;
};

/// One requirement and what was measured.
struct DemoCheck {
  std::string what;
  std::string found;
  bool ok = false;
  bool judged = true;  ///< false: the run was interrupted before it could be told
};
/// "ok", "MISS", or "--" when it was not judged.
const char* mark_of(const DemoCheck& check);

struct DemoReport {
  DemoOptions options;
  bool interrupted = false;
  double seconds = 0;
  std::uint64_t bytes_posted = 0;  ///< by messages of 1 MiB
  std::uint64_t bytes_verified = 0;
  std::uint64_t messages_bad = 0;
  std::string first_bad;
  report::Rates rates;
  std::vector<std::uint64_t> plane_pkts;           ///< data packets sent on each plane
  std::uint64_t ev_min_pkts = 0, ev_max_pkts = 0;  ///< over the EVs of healthy paths
  double ev_mean_pkts = 0;
  std::size_t evs = 0, evs_healthy = 0;
  std::vector<std::pair<std::string, std::uint64_t>> rtx_by_cause;
  std::uint64_t rtx = 0;
  std::uint64_t spurious = 0;
  std::uint64_t lost_on_dead_path = 0;  ///< data packets, retransmissions included
  std::uint64_t lost_at_random = 0;
  std::uint64_t carried_by_lossy_path = 0;
  std::uint32_t dead_plane = 0, dead_path = 0, lossy_plane = 0, lossy_path = 0;
  nic::CcSnapshot controller;  ///< of the sender
  DeathStory death;
  Duration base_rtt{};
  Duration longest_absence{};  ///< of the polling thread, from the death until the repair
  Duration absent{};           ///< all its absences in that time
  std::vector<DemoCheck> checks;
  std::shared_ptr<LiveSampler> samples;  ///< with DemoOptions::sample

  /// Something was checked, and all that was judged is right.
  [[nodiscard]] bool pass() const;
};

/// The fewest bytes from which shares and the story of the path can be told with these planes, paths and
/// delay.
std::uint64_t smallest_bytes(const DemoOptions& options);

/// Do the checks mean something with these options? Error: the option, its value, the limit and why.
Result<void> check_options(const DemoOptions& options);

/// Runs it; EAL is up, the options are checked. Errors: set-up, a QP that failed, no progress for ten
/// seconds. Everything else is in the checks; an interrupted run is judged by what of it ran.
Result<DemoReport> run_demo(const DemoOptions& options);

/// For people.
std::string to_text(const DemoReport& report);
/// One JSON object, schema "softmrc.demo/1".
std::string to_json(const DemoReport& report);

/// `mrc-endpoint demo ARGS`: parses, starts EAL, runs, prints. Its exit code.
ExitCode demo_main(const std::vector<std::string>& args);

}  // namespace mrc::endpoint
