// SPDX-License-Identifier: BSD-3-Clause
#include "sim/rc_sender.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace mrc::sim {
namespace {

constexpr std::uint64_t kMostOutstandingPkts = std::uint64_t{1} << 23;  // half of the PSNs

}  // namespace

RcSender::RcSender(const RcConfig& config, Time now)
    : config_(config),
      window_pkts_(
          config.window_bytes == 0
              ? kMostOutstandingPkts
              : std::clamp<std::uint64_t>(config.window_bytes / config.mtu_bytes, 1, kMostOutstandingPkts)),
      // A window must never wait for an acknowledgement that nobody asked for.
      ack_every_(
          std::clamp<std::uint64_t>(config.ack_every_pkts, 1, std::max<std::uint64_t>(window_pkts_ / 4, 1))),
      pace_at_(now) {
  assert(config.mtu_bytes > 0 && config.timeout.ns > 0);
  if (config.dcqcn) dcqcn_.emplace(*config.dcqcn, now);
}

void RcSender::post(FlowId flow, std::uint64_t bytes, std::uint64_t source, Time now) {
  const std::uint64_t packets =
      std::max<std::uint64_t>((bytes + config_.mtu_bytes - 1) / config_.mtu_bytes, 1);
  messages_.push_back({flow, posted_to_, packets, bytes, source});
  posted_to_ += packets;
  pace_at_ = later(pace_at_, now);
}

bool RcSender::may_send() const {
  return !failed_ && next_ < posted_to_ && next_ - una_ < window_pkts_;
}

bool RcSender::next_packet(Time now, std::uint32_t wire_bytes_around, RcPacket& out) {
  if (!may_send() || pace_at_ > now) return false;
  while (next_ >= messages_[cursor_].first + messages_[cursor_].packets) ++cursor_;
  const Message& m = messages_[cursor_];
  const std::uint64_t index = next_ - m.first;
  const std::uint64_t offset = index * config_.mtu_bytes;
  out = {};
  out.seq = next_;
  out.first = index == 0;
  out.last = index + 1 == m.packets;
  out.ack_req = out.last || (next_ + 1) % ack_every_ == 0;
  out.rtx = next_ < highest_;
  out.source = m.source + offset;
  out.payload_bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(config_.mtu_bytes, m.bytes - std::min(m.bytes, offset)));
  ++(out.rtx ? counters_.tx_rtx : counters_.tx_new);
  ++next_;
  highest_ = std::max(highest_, next_);
  if (timer_.is_never()) restart_timer(now);
  if (dcqcn_) {
    const std::uint64_t bytes = out.payload_bytes + wire_bytes_around;
    dcqcn_->on_sent(bytes, now);
    const double gap_ns = static_cast<double>(bytes) * 8e9 / dcqcn_->rate_bps(now);
    pace_at_ = now + nanoseconds(std::llround(gap_ns));
  }
  return true;
}

void RcSender::restart_timer(Time now) {
  timer_ = una_ < highest_ ? now + config_.timeout : Time::never();
}

// Everything before `next_expected` has arrived.
void RcSender::progress(std::uint64_t next_expected, Time now) {
  if (next_expected <= una_ || next_expected > highest_) return;
  una_ = next_expected;
  next_ = std::max(next_, una_);  // an old timeout may have gone back too far
  timeouts_in_a_row_ = 0;
  while (!messages_.empty() && una_ >= messages_.front().first + messages_.front().packets) {
    completed_.push_back(messages_.front().flow);
    messages_.pop_front();
    cursor_ -= cursor_ > 0 ? 1 : 0;
  }
  restart_timer(now);
}

void RcSender::on_ack(std::uint64_t next_expected, Time now) {
  progress(next_expected, now);
}

void RcSender::go_back(std::uint64_t seq) {
  next_ = seq;
  while (cursor_ > 0 && messages_[cursor_].first > next_) --cursor_;
}

// A sequence error: all before has arrived, all after was thrown away.
void RcSender::on_nak(std::uint64_t next_expected, Time now) {
  if (next_expected < una_ || next_expected >= highest_) return;
  progress(next_expected, now);
  if (next_ == next_expected) return;  // there already
  ++counters_.go_backs;
  go_back(next_expected);
  restart_timer(now);
}

void RcSender::on_cnp(Time now) {
  ++counters_.rx_cnp;
  if (dcqcn_) dcqcn_->on_cnp(now);
}

void RcSender::on_timer(Time now) {
  if (failed_ || timer_ > now) return;
  if (next_ == una_ && pace_at_ > now) {  // the retransmission itself still waits for its turn
    timer_ = pace_at_ + config_.timeout;
    return;
  }
  if (++timeouts_in_a_row_ > config_.retries) {
    failed_ = true;
    timer_ = Time::never();
    return;
  }
  ++counters_.timeouts;
  go_back(una_);
  restart_timer(now);
}

RcWake RcSender::wake(Time now) const {
  if (failed_) return {};
  const bool may = may_send();
  return {may && pace_at_ <= now, may && pace_at_ > now ? earlier(timer_, pace_at_) : timer_};
}

std::optional<FlowId> RcSender::pop_completed() {
  if (completed_.empty()) return std::nullopt;
  const FlowId flow = completed_.front();
  completed_.pop_front();
  return flow;
}

}  // namespace mrc::sim
