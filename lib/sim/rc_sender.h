// SPDX-License-Identifier: BSD-3-Clause
// Sending half of the single-path baseline: go-back-N (IBTA 9.7). Sans-IO, same manners as transport::Qp:
// what next_packet returns counts as sent; wake() tells when to come back.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "sim/rc_types.h"

namespace mrc::sim {

struct RcWake {
  bool ready = false;  ///< next_packet gives something now
  Time deadline = Time::never();
};

/// One owner. Messages complete in order.
class RcSender {
 public:
  RcSender(const RcConfig& config, Time now);

  void post(FlowId flow, std::uint64_t bytes, std::uint64_t source, Time now);
  /// The next packet to leave at `now`, or false.
  bool next_packet(Time now, std::uint32_t wire_bytes_around, RcPacket& out);

  void on_ack(std::uint64_t next_expected, Time now);
  void on_nak(std::uint64_t next_expected, Time now);
  void on_cnp(Time now);
  void on_timer(Time now);
  [[nodiscard]] RcWake wake(Time now) const;

  /// A message that is acknowledged to its last byte, each once, in order.
  std::optional<FlowId> pop_completed();
  /// All retries are used up: nothing is sent any more.
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] std::uint64_t unacked() const { return una_; }
  [[nodiscard]] std::uint64_t sent_to() const { return highest_; }
  [[nodiscard]] const RcCounters& counters() const { return counters_; }
  [[nodiscard]] double rate_bps(Time now) { return dcqcn_ ? dcqcn_->rate_bps(now) : 0; }

 private:
  struct Message {
    FlowId flow = 0;
    std::uint64_t first = 0;  ///< number of its first packet
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t source = 0;
  };
  [[nodiscard]] bool may_send() const;
  void progress(std::uint64_t next_expected, Time now);
  void go_back(std::uint64_t seq);
  void restart_timer(Time now);

  RcConfig config_;
  std::uint64_t window_pkts_;
  std::uint64_t ack_every_;
  std::optional<Dcqcn> dcqcn_;
  std::deque<Message> messages_;  ///< not acknowledged to their end
  std::size_t cursor_ = 0;        ///< the message that holds next_
  std::deque<FlowId> completed_;
  std::uint64_t posted_to_ = 0;
  std::uint64_t una_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t highest_ = 0;
  std::uint32_t timeouts_in_a_row_ = 0;
  Time timer_ = Time::never();
  Time pace_at_;
  bool failed_ = false;
  RcCounters counters_;
};

}  // namespace mrc::sim
