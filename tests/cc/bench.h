// SPDX-License-Identifier: BSD-3-Clause
// One NSCC behind a Qpcc, driven in the words of the test vectors: delays instead of RTTs, times in ns from
// 0.
#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "cc/qpcc.h"

namespace mrc::cc {

/// V1 of the vectors: 100 Gb/s, 12 us, MTU 4096, trimming.
inline constexpr NsccLink kV1{.rate_bps = 100e9, .base_rtt = nanoseconds(12000), .mtu_bytes = 4096};
inline constexpr Duration kHuge = seconds(1000);

inline Time at(std::int64_t ns) {
  return Time{ns};
}

inline NsccParams derived(const NsccLink& link, const NsccChoices& choices = {}) {
  auto p = derive_nscc(link, choices);
  EXPECT_TRUE(p) << p.error().message;
  return *p;
}

/// The vectors' conditions: the average is the last sample, eta is out of the way.
inline NsccParams vector_params(const NsccLink& link = kV1) {
  NsccChoices exact;
  exact.average = DelayAverage::kLastSample;
  NsccParams p = derived(link, exact);
  p.adjust_period_threshold = kHuge;
  return p;
}

class Bench {
 public:
  explicit Bench(const NsccParams& params, double cwnd, std::int64_t inflight = 0,
                 SendTest test = SendTest::kUet)
      : params_(params), qpcc_(make(params, cwnd), test) {
    qpcc_.on_sent(inflight);
  }

  static constexpr std::nullopt_t kNoRtt = std::nullopt;

  /// A SACK of `bytes` at `t` with queueing delay `delay_ns` over the configured base.
  void ack(std::int64_t t, std::int64_t bytes, bool marked, std::optional<std::int64_t> delay_ns,
           std::uint8_t pen = 0, bool restore = false) {
    AckSignal s{
        .newly_received_bytes = bytes, .marked = marked, .rcv_cwnd_pen = pen, .restore_cwnd = restore};
    if (delay_ns) s.rtt = params_.base_rtt + nanoseconds(*delay_ns);
    qpcc_.on_ack(s, at(t));
  }
  /// `count` SACKs 1000 ns apart, the first at `t`; returns the time after the last.
  std::int64_t acks(int count, std::int64_t t, std::int64_t bytes, bool marked, std::int64_t delay_ns) {
    for (int i = 0; i < count; ++i, t += 1000) ack(t, bytes, marked, delay_ns);
    return t;
  }
  void nack(std::int64_t t, wire::NackReason reason, std::int64_t bytes,
            std::optional<std::int64_t> delay_ns = std::nullopt) {
    NackSignal s{.reason = reason, .charged_bytes = bytes, .nominal_bytes = bytes};
    if (delay_ns) s.rtt = params_.base_rtt + nanoseconds(*delay_ns);
    qpcc_.on_nack(s, at(t));
  }
  void loss(std::int64_t t, std::int64_t bytes) { qpcc_.on_loss(bytes, at(t)); }

  [[nodiscard]] const NsccState& s() const { return std::get<Nscc>(qpcc_.algorithm()).state(); }
  [[nodiscard]] double cwnd() const { return s().cwnd; }
  [[nodiscard]] std::int64_t inflight() const { return qpcc_.inflight_bytes(); }
  Qpcc& qpcc() { return qpcc_; }

 private:
  static Nscc make(const NsccParams& params, double cwnd) {
    Nscc n(params, Time{});
    NsccState s = n.state();
    s.cwnd = cwnd;
    n.set_state(s);
    return n;
  }

  NsccParams params_;
  Qpcc qpcc_;
};

}  // namespace mrc::cc
