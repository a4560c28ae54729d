// SPDX-License-Identifier: BSD-3-Clause
#include "phase_runner.h"

#include <fmt/format.h>

#include <algorithm>

namespace mrc::endpoint {
namespace {

// Work of one round, so that the worker is polled often enough: about 20 us each at cache speed.
constexpr std::uint64_t kPostBudgetBytes = 128 << 10;
constexpr std::uint64_t kCheckBudgetBytes = 128 << 10;
constexpr std::uint64_t kPrepareBudgetBytes = 2 << 20;  // memory that is touched for the first time
constexpr std::uint32_t kPostBurst = 64;
constexpr Duration kScanInterval = microseconds(20);
constexpr Duration kProgressInterval = microseconds(200);

// wr_id: which QP, and for sends which message.
constexpr unsigned kQpShift = 48;
std::uint64_t wr_id_of(std::uint32_t qp, std::uint64_t message) {
  return (std::uint64_t{qp} << kQpShift) | (message & ((std::uint64_t{1} << kQpShift) - 1));
}

const char* words(transport::WcStatus s) {
  using transport::WcStatus;
  switch (s) {
    case WcStatus::kSuccess:
      return "success";
    case WcStatus::kLocLenErr:
      return "a local length error";
    case WcStatus::kWrFlushErr:
      return "flushed after an error of the QP";
    case WcStatus::kRemInvReqErr:
      return "the peer calls the request invalid (NAK 0x61)";
    case WcStatus::kRemAccessErr:
      return "the peer refuses the memory access (NAK 0x62)";
    case WcStatus::kRemOpErr:
      return "the peer failed to carry it out (NAK 0x63), or gave up altogether (NACK UNEXP_EVENT)";
    case WcStatus::kRetryExcErr:
      return "the retry budget is exhausted: nothing was acknowledged for the time that timeout, linear_cnt "
             "and exp_cnt "
             "allow; is the peer alive, and do its planes reach us?";
  }
  return "an unknown status";
}

}  // namespace

PhaseRunner::PhaseRunner(const PhaseSetup& setup, QpSet& qps, std::vector<Lane>& lanes)
    : setup_(setup),
      qps_(qps),
      lanes_(lanes),
      immediate_(uses_immediate(setup.kind)),
      ping_pong_(setup.kind == "write_lat"),
      per_qp_(qps.size()) {
  for (std::uint32_t i = 0; i < per_qp_.size(); ++i) {
    FlowPlan plan;
    // Flows are named by QP and direction, so that bytes of one can never pass for bytes of another.
    plan.key = {setup.seed, (i << 1) | (setup.flow_up ? 1U : 0U), setup.index, 0};
    plan.size_bytes = setup.plan.size_bytes;
    plan.stride_bytes = setup.plan.stride_bytes;
    plan.slots = setup.plan.slots;
    plan.depth = ping_pong_ ? std::min<std::uint32_t>(8, setup.plan.slots) : setup.plan.depth;
    plan.iterations = setup.starts ? setup.plan.iterations : 0;
    plan.verify = setup.verify;
    per_qp_[i].send = SendFlow(plan);
    per_qp_[i].posted_at.resize(plan.depth);
    plan.key.flow ^= 1;
    per_qp_[i].receive = ReceiveFlow(plan, qps[i].target);
    if (!setup.sends) per_qp_[i].send.stop();
  }
}

void PhaseRunner::fail(ExitCode code, std::string reason) {
  if (!failure_) failure_ = PhaseFailure{code, std::move(reason)};
}

bool PhaseRunner::prepare_some() {
  std::uint64_t budget = kPrepareBudgetBytes;
  while (setup_.receives && next_prepare_ < per_qp_.size() && budget > 0) {
    if (!post_receives(next_prepare_)) return false;
    const std::uint64_t done = per_qp_[next_prepare_].receive.prepare_some(budget);
    filled_bytes_ += done;
    budget -= std::min(budget, done);
    if (per_qp_[next_prepare_].receive.prepared()) ++next_prepare_;
  }
  return !setup_.receives || next_prepare_ == per_qp_.size();
}

/// False: the rest has to wait until the worker has taken some, or cannot be posted at all.
bool PhaseRunner::post_receives(std::size_t qp) {
  std::uint32_t& posted = per_qp_[qp].receives_posted;
  for (; posted < setup_.post_receives; ++posted) {
    const nic::PostStatus status =
        lanes_[qps_[qp].worker].post_recv(qps_[qp].qpn, {wr_id_of(static_cast<std::uint32_t>(qp), 0)});
    if (status == nic::PostStatus::kOk) continue;
    if (status != nic::PostStatus::kQueueFull) {
      fail(ExitCode::kTransport, fmt::format("QP {}: receive {} of {} cannot be posted (status {})", qp,
                                             posted, setup_.post_receives, static_cast<int>(status)));
    }
    return false;
  }
  return true;
}

void PhaseRunner::begin(Time now) {
  begun_ = true;
  first_post_ = Time::never();
  next_progress_ = now;
}

void PhaseRunner::step(Time now, const std::function<Time()>& clock) {
  if (failure_) return;
  take_completions(clock);
  if (begun_ && setup_.sends) {
    if (setup_.starts && setup_.plan.duration_s > 0 && !first_post_.is_never() &&
        now - first_post_ >= nanoseconds(static_cast<std::int64_t>(setup_.plan.duration_s * 1e9))) {
      stop(false);
    }
    post_all(now, clock);
  }
  if (setup_.receives) check_all();
}

void PhaseRunner::take_completions(const std::function<Time()>& clock) {
  transport::Completion batch[32];
  for (Lane& lane : lanes_) {
    for (int rounds = 0; rounds < 8; ++rounds) {
      const std::size_t n = lane.poll_cq(batch);
      if (n == 0) break;
      const Time now = clock();  // one reading a batch: its age is below that of a round
      for (std::size_t i = 0; i < n && !failure_; ++i) on_completion(batch[i], now);
      if (n < std::size(batch)) break;
    }
  }
}

void PhaseRunner::on_completion(const transport::Completion& wc, Time now) {
  const auto qp = static_cast<std::uint32_t>(wc.wr_id >> kQpShift);
  if (qp >= per_qp_.size()) return fail(ExitCode::kTestFailed, "a completion of a QP that does not exist");
  if (wc.status != transport::WcStatus::kSuccess) {
    return fail(ExitCode::kTransport, fmt::format("QP {}: {}", qp, words(wc.status)));
  }
  if (wc.opcode == transport::WcOpcode::kRecvRdmaWithImm) return on_immediate(qp, wc, now);
  PerQp& q = per_qp_[qp];
  const std::uint64_t message = q.send.completed();
  if (wr_id_of(qp, message) != wc.wr_id) {  // D17: in posting order, each once
    return fail(ExitCode::kTestFailed, fmt::format("QP {}: completion of message {} where {} was due", qp,
                                                   wc.wr_id & ((1ULL << kQpShift) - 1), message));
  }
  q.send.on_completed();
  ++completed_;
  last_completion_ = now;
  if (!ping_pong_)
    latency_.record(static_cast<std::uint64_t>((now - q.posted_at[message % q.posted_at.size()]).ns));
}

void PhaseRunner::on_immediate(std::uint32_t qp, const transport::Completion& wc, Time now) {
  PerQp& q = per_qp_[qp];
  const std::uint64_t message = q.receive.announced();
  if (wc.immdt != static_cast<std::uint32_t>(message) || wc.byte_len != setup_.plan.size_bytes) {
    if (immediates_bad_++ == 0) {
      first_bad_immediate_ =
          fmt::format("QP {}: WriteIMM {} of {} bytes arrived where {} of {} bytes was due", qp, wc.immdt,
                      wc.byte_len, static_cast<std::uint32_t>(message), setup_.plan.size_bytes);
    }
  }
  if (message == lost_.message && qp == 0) {
    PatternKey key = q.receive.plan().key;
    key.message = message;
    fill_poison(key, lost_.offset,
                qps_[0].target + (message % setup_.plan.slots) * setup_.plan.stride_bytes + lost_.offset,
                lost_.bytes);
  }
  if (lanes_[qps_[qp].worker].post_recv(qps_[qp].qpn, {wr_id_of(qp, 0)}) != nic::PostStatus::kOk) {
    return fail(ExitCode::kTransport, fmt::format("QP {}: a receive cannot be posted again", qp));
  }
  if (!q.receive.announce(message + 1)) {
    return fail(ExitCode::kTestFailed, fmt::format("QP {}: more messages arrived than there are slots", qp));
  }
  ++q.pings;
  if (ping_pong_ && q.pings > half()) {
    q.send.on_released(std::clamp(q.pings - half(), q.send.released(), q.send.posted()));
  }
  if (ping_pong_ && setup_.starts) {
    latency_.record(static_cast<std::uint64_t>((now - q.posted_at[message % q.posted_at.size()]).ns));
  }
}

bool PhaseRunner::may_post(const PerQp& q) const {
  if (!q.send.may_post()) return false;
  if (!ping_pong_) return true;
  if (q.send.posted() >= q.receive.released() + half()) return false;
  return setup_.starts ? q.send.posted() == q.pings : q.send.posted() < q.pings;
}

void PhaseRunner::post_all(Time now, const std::function<Time()>& clock) {
  std::uint64_t bytes = 0;
  bool waits = false;
  for (std::size_t i = 0; i < per_qp_.size() && bytes < kPostBudgetBytes; ++i) {
    if (++next_post_ >= per_qp_.size()) next_post_ = 0;
    PerQp& q = per_qp_[next_post_];
    waits = waits || q.send.waits_for_release();
    for (std::uint32_t k = 0; k < kPostBurst && bytes < kPostBudgetBytes && may_post(q); ++k) {
      if (setup_.verify) bytes += fill_some(q, qps_[next_post_].source, kPostBudgetBytes - bytes);
      if (setup_.verify && q.filled < setup_.plan.size_bytes) break;  // the rest in later rounds
      if (!post_one(static_cast<std::uint32_t>(next_post_), ping_pong_ ? clock() : now)) break;
      if (!setup_.verify) bytes += setup_.plan.size_bytes;
    }
  }
  release_waits_ += waits ? 1 : 0;
}

/// A piece of the message that comes next: gigabytes in one go would keep the worker from its packets.
std::uint64_t PhaseRunner::fill_some(PerQp& q, unsigned char* source, std::uint64_t budget_bytes) {
  const std::uint64_t n = std::min(setup_.plan.size_bytes - q.filled,
                                   std::max<std::uint64_t>(8, budget_bytes) & ~std::uint64_t{7});
  PatternKey key = q.send.plan().key;
  key.message = q.send.posted();
  fill_pattern(key, q.filled, source + q.send.slot_offset(key.message) + q.filled, n);
  q.filled += n;
  filled_bytes_ += n;
  return n;
}

bool PhaseRunner::post_one(std::uint32_t qp, Time now) {
  PerQp& q = per_qp_[qp];
  const QpEnd& end = qps_[qp];
  const std::uint64_t message = q.send.post();
  const std::uint64_t offset = q.send.slot_offset(message);
  transport::WorkRequest wr;
  wr.wr_id = wr_id_of(qp, message);
  wr.opcode = immediate_ ? transport::WrOpcode::kRdmaWriteWithImm : transport::WrOpcode::kRdmaWrite;
  wr.length_bytes = static_cast<std::uint32_t>(setup_.plan.size_bytes);
  wr.rkey = end.peer_rkey;
  wr.local = reinterpret_cast<std::uint64_t>(end.source + offset);
  wr.remote_va = end.peer_target_va + offset;
  wr.immdt = static_cast<std::uint32_t>(message);
  const nic::PostStatus s = lanes_[end.worker].post_send(end.qpn, qps_.source_lkey(), wr);
  if (s != nic::PostStatus::kOk) {
    q.send.unpost();
    if (s != nic::PostStatus::kQueueFull) {  // a full queue is back-pressure
      fail(ExitCode::kTestFailed,
           fmt::format("QP {}: message {} cannot be posted (status {})", qp, message, static_cast<int>(s)));
    }
    return false;
  }
  q.filled = 0;
  q.posted_at[message % q.posted_at.size()] = now;
  if (first_post_.is_never()) first_post_ = now;
  return true;
}

void PhaseRunner::check_all() {
  std::uint64_t budget = kCheckBudgetBytes;
  for (std::size_t i = 0; i < per_qp_.size() && budget > 0; ++i) {
    if (++next_check_ >= per_qp_.size()) next_check_ = 0;
    budget -= std::min(budget, per_qp_[next_check_].receive.check_some(budget));
  }
}

void PhaseRunner::on_progress(const Progress& p) {
  for (const Progress::Entry& e : p.entries) {
    if (e.qp >= per_qp_.size())
      return fail(ExitCode::kPeer, fmt::format("the peer reports progress of QP {}", e.qp));
    PerQp& q = per_qp_[e.qp];
    if (!q.send.on_released(std::max(e.released, q.send.released()))) {
      return fail(ExitCode::kPeer, fmt::format("QP {}: the peer checked {} messages, {} were posted", e.qp,
                                               e.released, q.send.posted()));
    }
    if (immediate_ || !setup_.receives || e.completed <= q.receive.announced()) continue;
    if (!q.receive.announce(e.completed)) {
      return fail(ExitCode::kPeer,
                  fmt::format("QP {}: the peer completed {} messages, only {} slots were free", e.qp,
                              e.completed, setup_.plan.slots));
    }
  }
}

void PhaseRunner::on_peer_done(const PhaseDone& d) {
  if (d.sent.size() != per_qp_.size())
    return fail(ExitCode::kPeer, "the peer's phase_done does not list every QP");
  peer_done_ = true;
  interrupted_ = interrupted_ || d.interrupted;
  for (std::size_t i = 0; i < per_qp_.size(); ++i) {
    per_qp_[i].expected = d.sent[i];
    if (immediate_ || !setup_.receives || d.sent[i] <= per_qp_[i].receive.announced()) continue;
    if (!per_qp_[i].receive.announce(d.sent[i]))
      return fail(ExitCode::kPeer, "the peer sent more than slots allow");
  }
  // `run` decides when a phase ends. `serve` follows: what has no end of its own, pongs and timed sending,
  // ends with run's.
  const bool follows = !setup_.flow_up && (setup_.plan.iterations == 0 || !setup_.starts);
  if (follows || d.interrupted) stop(d.interrupted);
}

void PhaseRunner::stop(bool interrupted) {
  interrupted_ = interrupted_ || interrupted;
  for (PerQp& q : per_qp_) q.send.stop();
}

std::optional<Progress> PhaseRunner::take_progress(Time now) {
  if (ping_pong_ || now < next_scan_) return std::nullopt;
  next_scan_ = now + kScanInterval;
  const bool due = now >= next_progress_;
  Progress p;
  p.index = setup_.index;
  bool urgent = false;
  const std::uint64_t quarter = std::max<std::uint64_t>(1, setup_.plan.slots / 4);
  for (std::uint32_t i = 0; i < per_qp_.size(); ++i) {
    const PerQp& q = per_qp_[i];
    const std::uint64_t completed = immediate_ ? 0 : q.send.completed();
    if (completed == q.said_completed && q.receive.released() == q.said_released) continue;
    urgent = urgent || completed - q.said_completed >= quarter ||
             q.receive.released() - q.said_released >= quarter;
    p.entries.push_back({i, completed, q.receive.released()});
  }
  if (p.entries.empty() || !(due || urgent)) return std::nullopt;
  for (const Progress::Entry& e : p.entries) {
    per_qp_[e.qp].said_completed = e.completed;
    per_qp_[e.qp].said_released = e.released;
  }
  next_progress_ = now + kProgressInterval;
  return p;
}

std::optional<PhaseDone> PhaseRunner::take_done() {
  if (done_said_ || !begun_) return std::nullopt;
  for (const PerQp& q : per_qp_) {
    if (!q.send.done()) return std::nullopt;
    if (ping_pong_ && setup_.starts && q.pings != q.send.posted()) return std::nullopt;
  }
  // Who answers pings is done when the peer says that no more come.
  if (ping_pong_ && !setup_.starts && !peer_done_) return std::nullopt;
  done_said_ = true;
  PhaseDone d;
  d.index = setup_.index;
  d.interrupted = interrupted_;
  for (const PerQp& q : per_qp_) d.sent.push_back(q.send.posted());
  return d;
}

std::optional<PhaseReport> PhaseRunner::take_report() {
  if (report_said_ || !peer_done_) return std::nullopt;
  for (const PerQp& q : per_qp_) {
    if (setup_.receives && q.receive.released() != q.expected) return std::nullopt;
  }
  report_said_ = true;
  return own_report();
}

PhaseReport PhaseRunner::own_report() const {
  PhaseReport r;
  r.index = setup_.index;
  r.verified = setup_.verify;
  for (const PerQp& q : per_qp_) {
    r.messages += q.receive.released();
    r.bytes += q.receive.bytes_checked();
    r.messages_bad += q.receive.bad();
    if (r.first_bad.empty()) r.first_bad = q.receive.first_bad();
  }
  r.messages_bad += immediates_bad_;
  if (r.first_bad.empty()) r.first_bad = first_bad_immediate_;
  return r;
}

std::uint64_t PhaseRunner::posted() const {
  std::uint64_t n = 0;
  for (const PerQp& q : per_qp_) n += q.send.posted();
  return n;
}

std::uint64_t PhaseRunner::received() const {
  std::uint64_t n = 0;
  for (const PerQp& q : per_qp_) n += q.receive.announced();
  return n;
}

std::uint64_t PhaseRunner::checked() const {
  std::uint64_t n = 0;
  for (const PerQp& q : per_qp_) n += q.receive.released();
  return n;
}

unsigned PhaseRunner::waiting_percent(std::size_t qp) const {
  const ReceiveFlow& f = per_qp_[qp].receive;
  return static_cast<unsigned>((f.announced() - f.released()) * 100 / setup_.plan.slots);
}

void PhaseRunner::lose_placement(std::uint64_t message, std::uint64_t offset, std::uint64_t bytes) {
  lost_ = {message, offset, bytes};
}

}  // namespace mrc::endpoint
