// SPDX-License-Identifier: BSD-3-Clause
#include "report/result.h"

#include <fmt/format.h>

namespace mrc::report {
namespace {

constexpr std::uint64_t kManyDuplicates = 10;

std::string phase_name(const PhaseResult& p) {
  return fmt::format("{} size {} B", p.workload, p.size_bytes);
}

void check_verification(const PhaseResult& p, const Verification& v, const char* who, bool expected,
                        std::vector<std::string>& out) {
  if (!v.on || !expected) return;
  if (v.messages == 0) out.push_back(fmt::format("{}: {} verified 0 messages", phase_name(p), who));
  if (v.messages_bad != 0) {
    out.push_back(fmt::format("{}: {}: {} of {} messages are wrong; first: {}", phase_name(p), who,
                              v.messages_bad, v.messages, v.first_bad));
  }
}

void check_phase(const RunResult& run, const PhaseResult& p, std::vector<std::string>& out) {
  const bool sends = run.role != "serve" || p.bidirectional || p.workload == "write_lat";
  const bool receives = run.role != "run" || p.bidirectional || p.workload == "write_lat";
  if (sends) {
    if (p.messages_completed == 0) out.push_back(fmt::format("{}: 0 messages completed", phase_name(p)));
    if (p.messages_completed > p.messages_offered) {
      out.push_back(fmt::format("{}: {} messages completed but {} posted", phase_name(p),
                                p.messages_completed, p.messages_offered));
    }
    if (run.role != "serve" && p.latency.samples == 0) {
      out.push_back(fmt::format("{}: 0 latency samples ({})", phase_name(p), p.latency.method));
    }
    if (!(p.duration_s > 0)) out.push_back(fmt::format("{}: no time passed", phase_name(p)));
    if (p.latency.max_ns > p.duration_s * 1e9 * 1.001 + 1e6) {
      out.push_back(fmt::format("{}: a latency of {:.0f} ns is longer than the run, {:.3f} s", phase_name(p),
                                p.latency.max_ns, p.duration_s));
    }
  }
  check_verification(p, p.verification, "this end", receives, out);
  check_verification(p, p.peer_verification, "the peer", sends && run.role != "loopback", out);
  if (!p.conserved) out.push_back(fmt::format("{}: packets are missing: {}", phase_name(p), p.conservation));
  const double planes = static_cast<double>(p.planes.size());
  if (run.link_speed_bps > 0 && p.achieved.l1_bps > run.link_speed_bps * planes * 1.01) {
    out.push_back(
        fmt::format("{}: an L1 rate of {:.3f} Gb/s is above the links' {:.3f} Gb/s; the measurement is wrong",
                    phase_name(p), p.achieved.l1_bps / 1e9, run.link_speed_bps * planes / 1e9));
  }
}

}  // namespace

Latency latency_of(const Histogram& h, std::string method, double divisor) {
  Latency l;
  l.method = std::move(method);
  l.samples = h.samples();
  l.min_ns = static_cast<double>(h.min()) / divisor;
  l.mean_ns = h.mean() / divisor;
  l.p50_ns = static_cast<double>(h.percentile(50)) / divisor;
  l.p99_ns = static_cast<double>(h.percentile(99)) / divisor;
  l.p999_ns = static_cast<double>(h.percentile(99.9)) / divisor;
  l.max_ns = static_cast<double>(h.max()) / divisor;
  return l;
}

std::uint64_t value_of(const Counters& counters, std::string_view name) {
  for (const auto& [known, value] : counters) {
    if (known == name) return value;
  }
  return 0;
}

std::vector<std::string> find_warnings(const std::vector<PhaseResult>& phases) {
  std::vector<std::string> out;
  for (const PhaseResult& p : phases) {
    const std::uint64_t rtx = value_of(p.transport, "tx_rtx");
    const std::uint64_t spurious = value_of(p.transport, "spurious_rtx");
    if (spurious != 0 && spurious * 2 >= rtx) {
      out.push_back(fmt::format(
          "{}: {} retransmissions, {} of them of packets that had arrived: nothing was lost, "
          "acknowledgements were "
          "late. A core has more to do than it can (both ends on one CPU? see --lcores and tools/doctor), or "
          "qp.base_rtt_us is below the network's round trip",
          phase_name(p), rtx, spurious));
    }
    // The receiver's view of the same, from one in a hundred on.
    const std::uint64_t writes = value_of(p.transport, "rx_write");
    const std::uint64_t again = value_of(p.transport, "rx_duplicate");
    if (again >= kManyDuplicates && again * 100 >= writes) {
      out.push_back(fmt::format(
          "{}: {} of {} Writes received had arrived before: the peer sent again what was not lost, because "
          "acknowledgements from here came late. A core has more to do than it can (both ends on one CPU? "
          "see "
          "--lcores and tools/doctor), or the peer's qp.base_rtt_us is below the network's round trip",
          phase_name(p), again, writes));
    }
    for (const PlaneResult& x : p.planes) {
      if (x.rx_missed_pkts + x.rx_no_mbuf_pkts != 0) {
        out.push_back(fmt::format(
            "{}: plane {}: the port lost packets before a worker saw them: rx_missed {}, rx_no_mbuf {}; "
            "its worker polls too seldom (--workers, --lcores)",
            phase_name(p), x.plane, x.rx_missed_pkts, x.rx_no_mbuf_pkts));
      }
      if (x.rx_error_pkts + x.tx_error_pkts != 0) {
        out.push_back(fmt::format("{}: plane {}: the driver counts errors: rx_error {}, tx_error {}",
                                  phase_name(p), x.plane, x.rx_error_pkts, x.tx_error_pkts));
      }
    }
  }
  return out;
}

std::vector<std::string> find_failures(const RunResult& run) {
  std::vector<std::string> out;
  if (run.phases.empty()) out.emplace_back("nothing was run: 0 phases");
  for (const PhaseResult& p : run.phases) check_phase(run, p, out);
  return out;
}

}  // namespace mrc::report
