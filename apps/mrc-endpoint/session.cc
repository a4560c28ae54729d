// SPDX-License-Identifier: BSD-3-Clause
#include "session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rng.h"

namespace mrc::endpoint {
namespace {

constexpr Duration kWindow = milliseconds(100);
constexpr Duration kLinkWait = seconds(5);       ///< for links to come up before the run
constexpr Duration kAllLinksDown = seconds(1);   ///< then the run is over
constexpr Duration kStopPatience = seconds(10);  ///< after SIGINT, for what is posted to complete
constexpr std::size_t kMaxQueueEntries = 65536;  ///< of nic::AppQueue
constexpr std::size_t kMaxWarnings = 100;
constexpr std::uint64_t kRegionAlign = 4096;
constexpr double kFillBytesPerS = 100e6;  ///< a slow machine that takes its memory page by page

}  // namespace

Session::Session(ExchangeRole role, const config::EndpointConfig& config, End& end, SessionOptions options,
                 Time now)
    : role_(role),
      config_(config),
      end_(end),
      nic_(end.nic()),
      options_(std::move(options)),
      exchange_(std::move(options_.exchange)) {
  if (exchange_ == nullptr) {
    const Duration timeout = nanoseconds(static_cast<std::int64_t>(config.oob.peer_timeout_s * 1e9));
    exchange_ = std::make_unique<Exchange>(role, options_.software, timeout, now);
  }
}

void Session::step(Time now) {
  exchange_->on_time(now);
  while (auto m = exchange_->next()) {
    if (over()) return;
    on_message(*m, now);
    // Run's report, its next phase and its bye may come in one piece: what the report ends, ends with it.
    if (phase_ != nullptr && phase_->finished()) finish_phase(now);
  }
  if (over()) return;
  if (is_run() && exchange_->state() == Exchange::State::kOffer && qps_ == nullptr) make_offer();
  if (connected_ && !ready_said_) say_ready(now);
  if (exchange_->state() != Exchange::State::kRunning) return;
  if (phase_ != nullptr) return pump_phase(now);
  if (is_run()) start_next_phase();
  watch_pause(now);
}

/// Between two phases nothing takes long; pings alone do not keep a run alive.
void Session::watch_pause(Time now) {
  if (phase_ != nullptr || over()) {
    pause_since_ = Time::never();
    return;
  }
  if (pause_since_.is_never()) pause_since_ = now;
  if (now - pause_since_ < stall_patience()) return;
  exchange_->abort(ExitCode::kPeer,
                   fmt::format("the peer has neither begun a phase nor ended the run for {:.1f} s",
                               static_cast<double>(stall_patience().ns) / 1e9));
}

Duration Session::stall_patience() const {
  if (stop_) return kStopPatience;
  return nanoseconds(static_cast<std::int64_t>(config_.workload.stall_timeout_s * 1e9));
}

void Session::request_stop() {
  stop_ = true;
  if (over()) return;
  if (exchange_->state() != Exchange::State::kRunning) {
    return exchange_->abort(ExitCode::kTestFailed, "interrupted before anything was measured");
  }
  if (is_run()) {
    if (phase_ != nullptr) phase_->stop(true);
  } else if (!stop_said_) {
    stop_said_ = true;  // run ends the phase, so that both ends count the same
    exchange_->send(Stop{});
  }
}

// --- negotiation
// --------------------------------------------------------------------------------------------------

Result<void> Session::make_evs() {
  if (evs_ != nullptr) return {};
  Result<path::EvTable> table = build_ev_table(config_, nic_.address(0, 0).ip.v6, mix64(options_.seed));
  if (!table) return table.error();
  evs_ = std::make_shared<const path::EvTable>(*std::move(table));
  return {};
}

Result<void> Session::create_qps(bool sends, bool receives) {
  if (Result<void> r = make_evs(); !r) return r;
  const MemoryNeed needed = memory_of(workload_, QpSet::bytes_of_qp(config_, evs_));
  if (needed.bytes() > options_.free_memory_bytes) {
    return Error{fmt::format(
        "the run needs {}, and {} MiB are free on this machine; use smaller messages, fewer QPs or a smaller "
        "--tx-depth",
        needed.text(), options_.free_memory_bytes >> 20)};
  }
  const std::size_t entries =
      std::size_t{workload_.qps} * (config_.qp.limits.max_send_wr + config_.qp.limits.max_recv_wr);
  if (Result<void> r = end_.make_lanes(workload_.qps, std::min(entries, kMaxQueueEntries)); !r)
    return r.error();
  QpSetConfig set;
  set.qps = workload_.qps;
  set.region_bytes = workload_.region_bytes;
  set.sends = sends;
  set.receives = receives;
  set.rate_bps = config::rate_of_planes(config_, options_.port_bps);
  set.now = options_.clock();
  const std::uint64_t seed = mix64(options_.seed ^ (is_run() ? 1U : 2U));
  Result<std::unique_ptr<QpSet>> qps = QpSet::create(config_, nic_, end_.lanes(), evs_, set, seed);
  if (!qps) return qps.error();
  qps_ = *std::move(qps);
  own_ = qps_->describe();
  own_.workload = workload_;
  return {};
}

void Session::make_offer() {
  plans_ = plan_phases(config_);
  const config::WorkloadConfig& w = config_.workload;
  workload_.kind = name_of(w.kind);
  workload_.seed = options_.seed;
  workload_.qps = w.qps;
  workload_.bidirectional = w.bidirectional;
  workload_.verify = w.verify;
  for (const PhasePlan& p : plans_) {
    workload_.max_size_bytes = std::max(workload_.max_size_bytes, p.size_bytes);
    workload_.region_bytes = std::max(workload_.region_bytes, p.region_bytes());
  }
  workload_.region_bytes = (workload_.region_bytes + kRegionAlign - 1) / kRegionAlign * kRegionAlign;
  if (Result<void> r = create_qps(true, run_receives(workload_)); !r) {
    return exchange_->abort(ExitCode::kUsage, r.error().message);
  }
  exchange_->send(own_);
}

void Session::on_offer(const Offer& offer) {
  if (Result<void> r = make_evs(); !r) return exchange_->refuse(r.error().message);
  if (Result<void> r =
          check_offer(config_, offer, options_.free_memory_bytes, QpSet::bytes_of_qp(config_, evs_));
      !r)
    return exchange_->refuse(r.error().message);
  workload_ = offer.workload;
  agree_verify(config_.workload.verify, offer.workload.verify);
  const bool sends = run_receives(workload_);
  if (Result<void> r = create_qps(sends, true); !r) return exchange_->refuse(r.error().message);
  if (Result<void> r = check_peer(own_, offer, sends ? workload_.region_bytes : 0); !r) {
    return exchange_->refuse(r.error().message);
  }
  if (Result<void> r = qps_->connect(offer); !r) return exchange_->refuse(r.error().message);
  say_connected();
  own_.workload.verify = config_.workload.verify;  // our wish: each end puts the two together
  exchange_->send(Accept{own_});
}

void Session::on_accept(const Accept& accept) {
  Result<void> r = check_peer(own_, accept.offer, workload_.region_bytes);
  if (r) r = qps_->connect(accept.offer);
  if (!r) return exchange_->abort(ExitCode::kPeer, r.error().message);
  agree_verify(workload_.verify, accept.offer.workload.verify);
  say_connected();
}

/// Both ends look at the data or neither does: what one end does not look at the other cannot report.
void Session::agree_verify(bool here, bool there) {
  workload_.verify = here && there;
  if (workload_.verify) return;
  no_verify_reason_ = fmt::format("--no-verify at {}; bytes were not looked at", here    ? "the other end"
                                                                                 : there ? "this end"
                                                                                         : "both ends");
  options_.log("verification is off: " + no_verify_reason_);
}

void Session::say_connected() {
  connected_ = true;
  if (config_.qp.policy.receive_penalty) occupancy_.emplace(nic_, *qps_);
  const std::uint16_t mtu = qps_->negotiated().path_mtu;
  const std::uint16_t ours = config_.qp.attr.path_mtu;
  options_.log(fmt::format("path MTU {} bytes{}", mtu,
                           mtu < ours ? fmt::format(" (the peer's limit; {} here)", ours) : ""));
}

void Session::say_ready(Time now) {
  if (connected_at_.is_never()) connected_at_ = now;
  const bool any = link_up_.empty() || std::find(link_up_.begin(), link_up_.end(), true) != link_up_.end();
  const bool all = std::find(link_up_.begin(), link_up_.end(), false) == link_up_.end();
  if (!all && now - connected_at_ < kLinkWait) return;
  if (!any) {
    return exchange_->abort(
        ExitCode::kTransport,
        fmt::format("all {} planes are down after {} s; check cables, interfaces and the peer's ports",
                    link_up_.size(), kLinkWait.ns / 1'000'000'000));
  }
  ready_said_ = true;
  for (std::size_t p = 0; p < link_up_.size(); ++p)
    if (!link_up_[p]) note_link(fmt::format("plane {}: link DOWN from the start", p), now);
  exchange_->send(Ready{});
}

void Session::on_message(const Message& m, Time now) {
  if (const auto* offer = std::get_if<Offer>(&m)) return on_offer(*offer);
  if (const auto* accept = std::get_if<Accept>(&m)) return on_accept(*accept);
  if (const auto* start = std::get_if<PhaseStart>(&m)) return on_phase_start(*start);
  if (std::holds_alternative<Stop>(m)) {
    options_.log("the peer asks to stop");
    return request_stop();
  }
  if (std::holds_alternative<Bye>(m)) {
    if (!is_run()) exchange_->send(Bye{});
    return;
  }
  if (phase_ == nullptr) return;  // late words about a phase that is over
  const std::uint32_t index = phase_->setup().index;
  if (const auto* ready = std::get_if<PhaseReady>(&m); ready != nullptr && ready->index == index)
    phase_->begin(now);
  if (const auto* p = std::get_if<Progress>(&m); p != nullptr && p->index == index) phase_->on_progress(*p);
  if (const auto* d = std::get_if<PhaseDone>(&m); d != nullptr && d->index == index) phase_->on_peer_done(*d);
  if (const auto* r = std::get_if<PhaseReport>(&m); r != nullptr && r->index == index)
    phase_->on_peer_report(*r);
}

// --- phases
// ---------------------------------------------------------------------------------------------------------

void Session::make_runner(const PhasePlan& plan, std::uint32_t index) {
  PhaseSetup setup;
  setup.index = index;
  setup.kind = workload_.kind;
  setup.plan = plan;
  setup.sends = is_run() || run_receives(workload_);
  setup.receives = !is_run() || run_receives(workload_);
  setup.starts = is_run() || workload_.kind != "write_lat";
  setup.verify = workload_.verify;
  setup.seed = workload_.seed;
  setup.flow_up = is_run();
  if (index == 0 && setup.receives && uses_immediate(setup.kind)) {
    setup.post_receives = config_.qp.limits.max_recv_wr;
  }
  phase_ = std::make_unique<PhaseRunner>(setup, *qps_, end_.lanes());
  seen_ = {};
  seen_.window_s = static_cast<double>(kWindow.ns) / 1e9;
  seen_.port_names = options_.port_names;
  seen_.no_verify_reason = no_verify_reason_;
  window_end_ = Time{};
  window_messages_ = 0;
  if (options_.on_phase) options_.on_phase(*phase_);
  before_ = take_snapshot(nic_, *qps_, options_.fabric);
  seen_.since = options_.clock();
  prepared_said_ = false;
  moved_at_ = Time{};
}

void Session::start_next_phase() {
  if (next_plan_ >= plans_.size() || stop_) {
    if (!bye_said_) exchange_->send(Bye{});
    bye_said_ = true;
    return;
  }
  const auto index = static_cast<std::uint32_t>(next_plan_);
  const PhasePlan& plan = plans_[next_plan_++];
  make_runner(plan, index);
}

/// Only when every target is poisoned and the worker has every receive: a WriteIMM that finds none is an
/// error of the connection.
void Session::say_prepared(Time now) {
  if (!phase_->prepare_some()) {
    if (const auto& failure = phase_->failure()) exchange_->abort(failure->code, failure->reason);
    return;
  }
  for (const Lane& lane : end_.lanes()) {
    if (!lane.taken()) return;
  }
  prepared_said_ = true;
  const PhaseSetup& s = phase_->setup();
  options_.log(fmt::format("running {} of {} bytes over {} QPs", s.kind, s.plan.size_bytes, qps_->size()));
  if (options_.sampler != nullptr) begin_samples(now);
  if (is_run()) {
    exchange_->send(
        PhaseStart{s.index, s.plan.size_bytes, s.plan.slots, s.plan.iterations, s.plan.duration_s});
  } else {
    exchange_->send(PhaseReady{s.index});
    phase_->begin(now);
  }
}

void Session::on_phase_start(const PhaseStart& start) {
  if (phase_ != nullptr)
    return exchange_->abort(ExitCode::kPeer, "the peer starts a phase before the last one is over");
  if (start.index != phases_begun_ || start.index >= config::kMaxSweep) {
    return exchange_->abort(
        ExitCode::kPeer, fmt::format("the peer starts phase {} where {} of at most {} was due", start.index,
                                     phases_begun_, config::kMaxSweep));
  }
  ++phases_begun_;
  PhasePlan plan = plan_phase(config_, start.size_bytes);
  plan.slots = start.slots;
  plan.depth = std::clamp<std::uint32_t>(plan.depth, 1, start.slots);
  plan.iterations = start.iterations;
  plan.duration_s = start.duration_s;
  if (start.size_bytes > workload_.max_size_bytes || plan.region_bytes() > workload_.region_bytes) {
    return exchange_->abort(
        ExitCode::kPeer, fmt::format("phase {}: {} slots of {} bytes are more than was agreed", start.index,
                                     start.slots, start.size_bytes));
  }
  if (uses_immediate(workload_.kind) && start.slots > config_.qp.limits.max_recv_wr) {
    return exchange_->abort(ExitCode::kPeer,
                            fmt::format("{} WriteIMM may be on their way, but qp.recv_queue here is {}",
                                        start.slots, config_.qp.limits.max_recv_wr));
  }
  make_runner(plan, start.index);
}

void Session::pump_phase(Time now) {
  if (!prepared_said_) return say_prepared(now);
  phase_->step(now, options_.clock);
  if (occupancy_) occupancy_->tell(*phase_, now);
  sample_window(now);
  if (options_.sampler != nullptr) options_.sampler->poll(now, &phase_->latency());
  if (const auto& failure = phase_->failure()) return exchange_->abort(failure->code, failure->reason);
  if (auto stalled = watch_for_stall(now)) return exchange_->abort(ExitCode::kTransport, *stalled);
  if (auto p = phase_->take_progress(now)) exchange_->send(*p);
  if (auto d = phase_->take_done()) exchange_->send(*d);
  if (auto r = phase_->take_report()) exchange_->send(*r);
  if (phase_->finished()) finish_phase(now);
}

/// The transport has its own budget for a peer that does not answer. This is for everything else: whatever
/// goes wrong, a run in which nothing moves ends with a message.
std::optional<std::string> Session::watch_for_stall(Time now) {
  const std::uint64_t moved = phase_->posted() + phase_->completed() + phase_->received() +
                              phase_->checked() + phase_->filled_bytes();
  if (moved != moved_ || moved_at_.ns == 0) {
    moved_ = moved;
    moved_at_ = now;
  }
  Duration patience = stall_patience();
  if (!phase_->begun()) {  // the peer takes and fills its memory
    patience =
        patience + nanoseconds(static_cast<std::int64_t>(
                       static_cast<double>(memory_of(workload_, 0).message_bytes) / kFillBytesPerS * 1e9));
  }
  if (now - moved_at_ < patience) return std::nullopt;
  return fmt::format(
      "nothing has moved for {:.1f} s: {} messages posted, {} completed, {} received, {} checked",
      static_cast<double>(patience.ns) / 1e9, phase_->posted(), phase_->completed(), phase_->received(),
      phase_->checked());
}

void Session::sample_window(Time now) {
  // After the last completion there is nothing to be measured any more.
  if (phase_->first_post().is_never() || now < window_end_ || phase_->sent_all()) return;
  const std::uint64_t messages = phase_->completed();
  if (window_end_.ns != 0) {
    const double elapsed_s = static_cast<double>((now - window_end_ + kWindow).ns) / 1e9;
    const std::uint64_t bytes = (messages - window_messages_) * phase_->setup().plan.size_bytes;
    seen_.goodput_windows_bps.add(static_cast<double>(bytes) * 8 / elapsed_s);
  }
  window_messages_ = messages;
  window_end_ = now + kWindow;
}

void Session::begin_samples(Time now) {
  LiveSource source;
  source.nic = &nic_;
  for (std::size_t i = 0; i < qps_->size(); ++i) source.qpns.push_back((*qps_)[i].qpn);
  source.evs = qps_->shared_evs();
  source.fabric = options_.fabric;
  options_.sampler->begin(std::move(source), now);
  const PhaseSetup& s = phase_->setup();
  options_.sampler->mark(now, fmt::format("{} of {} bytes begins", s.kind, s.plan.size_bytes));
}

void Session::finish_phase(Time now) {
  if (options_.sampler != nullptr) options_.sampler->end_phase(now, phase_->latency());
  seen_.link_up = link_up_;
  results_.push_back(
      make_result(*phase_, nic_, *qps_, before_, take_snapshot(nic_, *qps_, options_.fabric), seen_));
  phase_.reset();
}

std::vector<report::PhaseResult> Session::take_results() {
  if (phase_ != nullptr) {
    phase_->stop(true);
    finish_phase(options_.clock());
  }
  return std::move(results_);
}

void Session::note_link(const std::string& line, Time now) {
  options_.log(line);
  if (warnings_.size() < kMaxWarnings) warnings_.push_back(line);
  if (options_.sampler != nullptr) options_.sampler->mark(now, line);
}

void Session::note_links(const std::vector<bool>& up, Time now) {
  for (std::size_t p = 0; p < up.size() && p < link_up_.size(); ++p) {
    if (up[p] == link_up_[p] || !ready_said_ || over()) continue;
    note_link(fmt::format("plane {}: link {}", p, up[p] ? "up" : "DOWN"), now);
  }
  link_up_ = up;
  const bool any = std::find(up.begin(), up.end(), true) != up.end();
  if (any) links_down_since_ = Time::never();
  if (!any && links_down_since_.is_never()) links_down_since_ = now;
  if (!any && ready_said_ && !over() && now - links_down_since_ >= kAllLinksDown) {
    exchange_->abort(ExitCode::kTransport, fmt::format("all {} planes are down", up.size()));
  }
}

SessionProgress Session::progress() const {
  SessionProgress p;
  p.phases = plans_.size();
  p.phase = next_plan_;
  if (phase_ == nullptr) return p;
  p.running = true;
  p.workload = workload_.kind;
  p.size_bytes = phase_->setup().plan.size_bytes;
  p.completed = phase_->completed();
  p.received = phase_->received();
  return p;
}

}  // namespace mrc::endpoint
