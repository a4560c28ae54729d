// SPDX-License-Identifier: BSD-3-Clause
// The congestion controller of one destination (QPCC, MRC 8.1): how much may be in flight. Which path carries
// it is lib/path's business. A variant, not a base class: no virtual call per packet.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "base/time.h"
#include "cc/figures.h"
#include "cc/nscc.h"
#include "cc/schedule.h"
#include "cc/signals.h"

namespace mrc::cc {

/// A fixed window: the controller for tests, for links that need none, and for "cc: off" with a window that
/// never closes.
class FixedWindow {
 public:
  /// Congestion control off: MPR and the responder alone limit what is in flight. Half the range, so that
  /// cwnd - inflight cannot overflow while inflight is negative.
  static FixedWindow off() { return FixedWindow(std::numeric_limits<std::int64_t>::max() / 2); }
  explicit FixedWindow(std::int64_t window_bytes) : window_bytes_(window_bytes) {}
  [[nodiscard]] std::int64_t cwnd_bytes() const { return window_bytes_; }
  void on_ack(const AckSignal&, std::int64_t /*inflight*/, Time) {}
  void on_nack(const NackSignal&, std::int64_t /*inflight*/, Time) {}
  void on_loss(std::int64_t /*nominal_bytes*/, Time) {}

 private:
  std::int64_t window_bytes_;
};

/// The two send tests (D2). kMrc: inflight < cwnd (MRC 8.3.1). kUet: inflight + size <= cwnd.
enum class SendTest : std::uint8_t { kMrc, kUet };

/// Accounting of D7 around an algorithm. QPs to one destination share one Qpcc; they live on one worker.
/// inflight is signed: what SACKs count comes in steps of 256 B, rounded up, and out of order.
class Qpcc {
 public:
  using Algorithm = std::variant<FixedWindow, Nscc>;

  explicit Qpcc(Algorithm algorithm, SendTest test = SendTest::kMrc)
      : algorithm_(algorithm), test_(test), cwnd_(window()) {
    if (!std::holds_alternative<FixedWindow>(algorithm_)) windows_.resize(1);
  }

  [[nodiscard]] bool may_send(std::uint32_t nominal_bytes) const {
    return may_send([&] { return nominal_bytes; });
  }
  /// The same with a function that gives the nominal size, which only one of the tests asks for.
  template <std::invocable Size>
  [[nodiscard]] bool may_send(Size nominal_bytes) const {
    const std::int64_t cwnd = cwnd_bytes();
    return test_ == SendTest::kMrc ? inflight_ < cwnd : inflight_ + nominal_bytes() <= cwnd;
  }
  [[nodiscard]] std::int64_t cwnd_bytes() const { return cwnd_; }
  [[nodiscard]] std::int64_t inflight_bytes() const { return inflight_; }
  /// Shall the packet just charged ask for an acknowledgement (2.3, UET)? When the window leaves no room for
  /// another, or is smaller than what makes the responder acknowledge by itself.
  [[nodiscard]] bool wants_ack(std::uint32_t mtu_bytes, std::uint32_t ack_gen_trigger_bytes) const {
    const std::int64_t cwnd = cwnd_bytes();
    return cwnd - inflight_ < mtu_bytes || cwnd < ack_gen_trigger_bytes;
  }
  [[nodiscard]] const Algorithm& algorithm() const { return algorithm_; }
  [[nodiscard]] const CcFigures& figures() const { return figures_; }
  /// The window after each news; null: it never moves.
  [[nodiscard]] const WindowHistogram* windows() const {
    return windows_.empty() ? nullptr : windows_.data();
  }

  /// A QP's work changed (Figure 4); `told` is what it told before. To be called after each of its events:
  /// those may also have opened or closed the window. `waiting_bytes` gives the nominal size of the packet
  /// that waits; it is asked only when one does and the send test looks at it.
  template <std::invocable Size>
  void on_work(QpWork& told, QpWork is, Size waiting_bytes, Time now) {
    schedule_.change(told, is);
    if (is.queued && test_ == SendTest::kUet) waiting_bytes_ = waiting_bytes();
    schedule_.resched(may_send_waiting(), now);
  }
  /// A QP leaves; no time passes.
  void forget_work(QpWork& told) { schedule_.change(told, {}); }
  [[nodiscard]] SchedState state() const { return schedule_.state(may_send_waiting()); }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }

  void on_sent(std::int64_t nominal_bytes) { inflight_ += nominal_bytes; }
  void on_ack(const AckSignal& s, Time now) {
    inflight_ -= s.newly_received_bytes;
    std::visit([&](auto& a) { a.on_ack(s, inflight_, now); }, algorithm_);
    ++figures_.acks;
    figures_.marked += s.marked ? 1 : 0;
    note_window();
  }
  void on_nack(const NackSignal& s, Time now) {
    inflight_ -= s.charged_bytes;
    std::visit([&](auto& a) { a.on_nack(s, inflight_, now); }, algorithm_);
    const bool trimmed =
        s.reason == wire::NackReason::kTrimmed || s.reason == wire::NackReason::kTrimmedLasthop;
    figures_.trims += trimmed ? 1 : 0;
    note_window();
  }
  /// Inferred loss or ACK timeout of a charged packet.
  void on_loss(std::int64_t nominal_bytes, Time now) {
    inflight_ -= nominal_bytes;
    std::visit([&](auto& a) { a.on_loss(nominal_bytes, now); }, algorithm_);
    ++figures_.losses;
    note_window();
  }
  /// A packet given up turned out to be received: rcvd_bytes subtracts it a second time (D7).
  void on_received_after_given_up(std::int64_t nominal_bytes) { inflight_ += nominal_bytes; }
  /// The share of a QP that leaves (ERROR, RESET, destroy) or is resynchronised (D7): inflight += delta.
  void adjust_inflight(std::int64_t delta_bytes) { inflight_ += delta_bytes; }

 private:
  /// READY is said of what is next, and by kUet that has a size.
  [[nodiscard]] bool may_send_waiting() const { return may_send(waiting_bytes_); }
  void note_window() {
    if (windows_.empty()) return;
    const std::int64_t before = cwnd_;
    cwnd_ = window();
    figures_.cuts += cwnd_ < before ? 1 : 0;
    windows_[0].add(cwnd_);
  }
  [[nodiscard]] std::int64_t window() const {
    return std::visit([](const auto& a) { return a.cwnd_bytes(); }, algorithm_);
  }

  Algorithm algorithm_;
  SendTest test_;
  std::int64_t cwnd_;  ///< the algorithm's, which only news changes: it is asked for several times a packet
  std::int64_t inflight_ = 0;
  std::uint32_t waiting_bytes_ = 0;  ///< of the packet that a QP last told of (kUet)
  Schedule schedule_;
  CcFigures figures_;
  std::vector<WindowHistogram> windows_;  ///< none, or one
};

}  // namespace mrc::cc
