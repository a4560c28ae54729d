// SPDX-License-Identifier: BSD-3-Clause
// The application's side of a stream: memory, posting, completions.
#include "stream.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"
#include "violation.h"
#include "wire/sizes.h"

namespace mrc::property {
namespace {

constexpr std::uint8_t kTargetPoison = 0xCC;  // before anything was written
constexpr std::uint8_t kSourcePoison = 0xEE;  // after the transport has given the source back
constexpr std::uint8_t kOverwritten = 0xDD;   // the application's own bytes after completion

}  // namespace

Stream::Stream(const Scenario& s, int sender, const path::EvTable& sender_table)
    : s_(s),
      table_(sender_table),
      sender_(sender),
      attr_(s.side[sender].attr),
      peer_(s.side[1 - sender].attr),
      source_base_(mix64(s.seed * 2 + sender) >> 8),
      target_base_(mix64(s.seed * 3 + sender) | 1),
      sent_(attr_.sq_psn, attr_.mpr * kPsnsPerMprUnit, table_,
            {s.policy.base_rtt, ack_interval(attr_, 0), s.policy.ev_flush, s.policy.use_timestamps}),
      received_truth_(attr_.sq_psn, peer_.mpr_dest * kPsnsPerMprUnit, s.policy.first_rcvd_bytes) {
  mpr_ = attr_.mpr;
  std::size_t bytes = 0;
  for (const MessagePlan& m : s.side[sender].messages) bytes += m.length_bytes;
  source_.resize(bytes);
  target_.assign(bytes, kTargetPoison);
  messages_.reserve(s.side[sender].messages.size());
}

const transport::WorkRequest& Stream::prepare(std::size_t message) {
  if (message < messages_.size()) return messages_[message].wr;
  const MessagePlan& plan = s_.side[sender_].messages[message];
  Message m;
  m.plan = plan;
  const std::int64_t packets =
      std::max<std::int64_t>(1, (plan.length_bytes + attr_.path_mtu - 1) / attr_.path_mtu);
  if (!messages_.empty()) {
    const Message& before = messages_.back();
    m.first = before.last + 1;
    m.source = before.source + before.plan.length_bytes;
  }
  m.last = m.first + packets - 1;
  m.target = m.source;
  m.msn = s_.policy.first_msn + static_cast<std::int32_t>(message);
  m.rqmsn = s_.policy.first_rqmsn + static_cast<std::int32_t>(immediates_.size());
  if (plan.reuse_target) {  // the newest completed message that was at least as long
    for (std::size_t i = completed_; i > 0 && i + 8 > completed_; --i) {
      const Message& old = messages_[i - 1];
      if (!old.closed || old.status != transport::WcStatus::kSuccess ||
          old.plan.length_bytes < plan.length_bytes)
        continue;
      const bool in_use = std::any_of(messages_.begin() + static_cast<std::ptrdiff_t>(i), messages_.end(),
                                      [&](const Message& o) { return !o.closed && o.target == old.target; });
      if (!in_use) m.target = old.target;
      break;
    }
    std::fill_n(target_.begin() + static_cast<std::ptrdiff_t>(m.target), plan.length_bytes, kTargetPoison);
  }
  std::uint64_t word = 0;
  for (std::uint32_t i = 0; i < plan.length_bytes; ++i) {
    if (i % 8 == 0)
      word = mix64(s_.seed ^ (std::uint64_t{message} << 40) ^ (std::uint64_t{i} << 8) ^ sender_);
    source_[m.source + i] = static_cast<std::uint8_t>(word >> (i % 8 * 8));
  }
  m.wr.wr_id = mix64(message + 17);
  m.wr.opcode = plan.immediate ? transport::WrOpcode::kRdmaWriteWithImm : transport::WrOpcode::kRdmaWrite;
  m.wr.solicited = plan.solicited;
  m.wr.length_bytes = plan.length_bytes;
  m.wr.rkey = static_cast<std::uint32_t>(mix64(message) | 1);
  m.wr.local = source_base_ + m.source;
  m.wr.remote_va = target_base_ + m.target;
  m.wr.immdt = static_cast<std::uint32_t>(mix64(message * 7));
  messages_.push_back(m);
  return messages_.back().wr;
}

void Stream::on_posted(std::size_t message) {
  const Message& m = messages_[message];
  if (m.plan.immediate) immediates_.push_back(static_cast<std::uint32_t>(message));
  for (std::int64_t i = m.first; i <= m.last; ++i) {
    Record r;
    r.message = static_cast<std::uint32_t>(message);
    r.offset = static_cast<std::uint32_t>(i - m.first) * attr_.path_mtu;
    r.payload =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(attr_.path_mtu, m.plan.length_bytes - r.offset));
    r.nominal = wire::write_nominal_bytes(expected_opcode(m, i), s_.policy.use_timestamps, r.payload);
    records_.push_back(r);
  }
  ++posted_;
}

bool Stream::bytes_match(const Message& m) const {
  return m.plan.length_bytes == 0 ||
         std::memcmp(&source_[m.source], &target_[m.target], m.plan.length_bytes) == 0;
}

/// The application looks at the bytes it got and then uses the place for its own ones.
void Stream::close(Message& m) {
  if (m.closed) return;
  if (!bytes_match(m))
    violate("I5", "message ", m.msn.value(), " completed with wrong or missing bytes in the target");
  m.closed = true;
  std::fill_n(target_.begin() + static_cast<std::ptrdiff_t>(m.target), m.plan.length_bytes, kOverwritten);
}

void Stream::on_send_completion(const transport::Completion& wc) {
  if (completed_ >= posted_) violate("I5", "a send completion without a posted request, wr_id ", wc.wr_id);
  Message& m = messages_[completed_];
  if (wc.wr_id != m.wr.wr_id)
    violate("I5", "send completion ", completed_, " has wr_id ", wc.wr_id, ", posted was ", m.wr.wr_id);
  if (wc.opcode != transport::WcOpcode::kRdmaWrite)
    violate("I5", "send completion with the opcode of a receive");
  if (wc.status == transport::WcStatus::kSuccess) {
    if (failed_) violate("D17", "message ", completed_, " succeeded after an earlier one failed");
    if (acked_ < m.last) violate("D15", "message ", completed_, " completed without a Transport ACK");
    close(m);
  } else {
    if (failed_ && wc.status != transport::WcStatus::kWrFlushErr)
      violate("D17", "a second error, ", static_cast<int>(wc.status), ", at message ", completed_);
    failed_ = true;
  }
  m.send_done = true;  // from here on no packet may read the source
  m.status = wc.status;
  ++completed_;
  if (m.status != transport::WcStatus::kSuccess)
    return;  // packets under way may still complete it over there
  std::fill_n(source_.begin() + static_cast<std::ptrdiff_t>(m.source), m.plan.length_bytes, kSourcePoison);
}

void Stream::on_recv_completion(const transport::Completion& wc) {
  if (received_ >= immediates_.size()) violate("I5", "a receive completion without a WriteIMM");
  const std::uint32_t index = immediates_[received_];
  Message& m = messages_[index];
  if (placed_ < m.last) violate("I5", "the immediate of message ", index, " was delivered before its bytes");
  if (wc.opcode != transport::WcOpcode::kRecvRdmaWithImm || wc.immdt != m.wr.immdt ||
      wc.byte_len != m.plan.length_bytes || wc.solicited != m.plan.solicited)
    violate("I5", "receive completion ", received_, " does not describe message ", index, ": immediate ",
            wc.immdt, ", ", wc.byte_len, " bytes, solicited ", wc.solicited);
  m.recv_done = true;
  ++received_;
  // everything before a delivered WriteIMM is the application's now
  for (; closed_upto_ <= index; ++closed_upto_) close(messages_[closed_upto_]);
}

void Stream::check_finished() const {
  if (completed_ != planned()) violate("I3", completed_, " of ", planned(), " messages completed");
  for (const Message& m : messages_)
    if (m.status != transport::WcStatus::kSuccess)
      violate("I10", "message ", m.msn.value(), " ended with status ", static_cast<int>(m.status));
  if (received_ != immediates_.size())
    violate("I5", received_, " of ", immediates_.size(), " immediates delivered");
  if (placed_ != static_cast<std::int64_t>(records_.size()) - 1)
    violate("I5", "some packets never reached memory");
}

void Stream::check_untouched() const {
  for (const Message& m : messages_) {
    if (!m.closed) continue;
    // a later message may have taken the place over
    const bool reused = m.plan.length_bytes != 0 &&
                        std::any_of(messages_.begin() + (&m - messages_.data()) + 1, messages_.end(),
                                    [&](const Message& o) { return o.target == m.target; });
    if (reused) continue;
    const auto begin = target_.begin() + static_cast<std::ptrdiff_t>(m.target);
    if (std::any_of(begin, begin + m.plan.length_bytes, [](std::uint8_t b) { return b != kOverwritten; }))
      violate("I4", "the target of message ", m.msn.value(), " changed after its completion");
  }
}

std::int64_t Stream::index_of(Psn psn) const {
  const std::int64_t near = std::max<std::int64_t>(max_sent_, 0);
  const Psn reference = attr_.sq_psn + static_cast<std::int32_t>(near);
  return near + (psn - reference);
}

const Record* Stream::oldest_unknown() const {
  return known_upto_ < max_sent_ ? &records_[static_cast<std::size_t>(known_upto_ + 1)] : nullptr;
}

}  // namespace mrc::property
