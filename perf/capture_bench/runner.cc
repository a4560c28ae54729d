// SPDX-License-Identifier: BSD-3-Clause
// One of the two that capture_bench compares: both ends of the endpoint on one core over ring ports, 64 B
// messages, capture off. The same source is linked with the datapath as it is and with one that was built
// without capture. A line "MESSAGES" on standard input is answered by "NS CLEAN": nanoseconds of CPU time a
// message, and whether the run had neither retransmissions nor timer expiries.
#include <cstdio>
#include <cstdlib>

#include "endpoint_bench/bench.h"
#include "endpoint_bench/scenario.h"
#include "ethdev/eal.h"
#include "limit/stopwatch.h"

namespace mrc::perf {
namespace {

constexpr std::uint32_t kMessageBytes = 64;
constexpr std::uint16_t kPmtu = 4096;

int complain(const std::string& what) {
  std::fprintf(stderr, "capture_bench: %s\n", what.c_str());
  return 1;
}

int serve(unsigned cpu) {
  stopwatch_clock = StopwatchClock::kThreadCpu;
  ethdev::EalConfig config;
  config.program = "capture_bench";
  config.cpus = {cpu};
  config.memory_mib = 512;
  const auto eal = ethdev::Eal::init(config);
  if (!eal) return complain(eal.error().message);
  ethdev::set_this_thread_cpus({cpu});
  ring::RingPairConfig rings;
  rings.planes = kPlanes;
  const auto pair = ring::RingPair::create(rings);
  if (!pair) return complain(pair.error().message);
  const auto ends = Ends::create(**pair, kMiB, kPmtu);
  if (!ends) return complain(ends.error().message);
  for (unsigned long messages = 0; std::scanf("%lu", &messages) == 1;) {
    const RunResult r = (*ends)->run(messages, kMessageBytes);
    if (r.seconds == 0) return complain("a Write failed");
    std::printf("%.4f %d\n", r.seconds / static_cast<double>(messages) * 1e9, r.troubles.repaired() ? 0 : 1);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace mrc::perf

int main(int argc, char** argv) {
  return mrc::perf::serve(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 0);
}
