// SPDX-License-Identifier: BSD-3-Clause
// One run at one end: negotiation, set-up, phases, results. Non-blocking; whoever owns the thread steps it
// and carries the exchange's bytes (a socket, or the other session in the same process).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/endpoint_config.h"
#include "end.h"
#include "exchange.h"
#include "live_sampler.h"
#include "nic/nic.h"
#include "phase_runner.h"
#include "phase_stats.h"
#include "plan.h"
#include "qp_set.h"
#include "receive_occupancy.h"
#include "report/result.h"

namespace mrc::endpoint {

struct SessionOptions {
  std::string software;
  std::uint64_t seed = 1;
  double port_bps = 0;                          ///< of one plane, as its port tells; 0: it does not
  std::vector<std::string> port_names;          ///< by plane
  std::function<Time()> clock;                  ///< the Nic's
  std::function<void(const std::string&)> log;  ///< lines for people
  std::function<void(PhaseRunner&)> on_phase;   ///< test hook: a phase was made
  std::unique_ptr<Exchange> exchange;           ///< begun already; null: a new one
  std::uint64_t free_memory_bytes = ~0ULL;      ///< of this machine
  LiveSampler* sampler = nullptr;               ///< for the HTML report; null: none is wanted
  const fabric::Fabric* fabric = nullptr;       ///< for the sampler: what this thread pumps
};

/// What a progress line shows.
struct SessionProgress {
  bool running = false;
  std::string workload;
  std::uint64_t size_bytes = 0;
  std::uint64_t completed = 0;
  std::uint64_t received = 0;
  std::size_t phase = 0, phases = 0;
};

/// Thread rule: the control thread of its Nic, which is the polling thread when the Nic is polled inline.
class Session {
 public:
  /// `config` and `end` outlive the session. Addresses of `config` are filled in.
  Session(ExchangeRole role, const config::EndpointConfig& config, End& end, SessionOptions options,
          Time now);

  [[nodiscard]] Exchange& exchange() { return *exchange_; }
  void step(Time now);
  /// SIGINT: finish what is posted, report, end.
  void request_stop();
  /// State of the planes' links; called now and then. A run without any link for a second is over.
  void note_links(const std::vector<bool>& up, Time now);

  [[nodiscard]] bool over() const { return exchange_->over(); }
  /// Why it ended early; a test that failed is no failure of the session.
  [[nodiscard]] const std::optional<ExchangeFailure>& failure() const { return exchange_->failure(); }
  /// Results so far, a phase that was cut short included. Call once, after over().
  std::vector<report::PhaseResult> take_results();
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] SessionProgress progress() const;
  [[nodiscard]] const Workload& workload() const { return workload_; }

 private:
  void make_offer();
  void on_message(const Message& m, Time now);
  void on_offer(const Offer& offer);
  void on_accept(const Accept& accept);
  void on_phase_start(const PhaseStart& start);
  void note_link(const std::string& line, Time now);
  Result<void> make_evs();
  Result<void> create_qps(bool sends, bool receives);
  void start_next_phase();
  void make_runner(const PhasePlan& plan, std::uint32_t index);
  void say_prepared(Time now);
  void pump_phase(Time now);
  void finish_phase(Time now);
  void sample_window(Time now);
  void begin_samples(Time now);
  std::optional<std::string> watch_for_stall(Time now);
  void watch_pause(Time now);
  [[nodiscard]] Duration stall_patience() const;
  void agree_verify(bool here, bool there);
  void say_connected();
  void say_ready(Time now);
  [[nodiscard]] bool is_run() const { return role_ == ExchangeRole::kRun; }

  const ExchangeRole role_;
  const config::EndpointConfig& config_;
  End& end_;
  nic::Nic& nic_;
  SessionOptions options_;
  std::unique_ptr<Exchange> exchange_;

  Workload workload_;
  Offer own_;
  std::vector<PhasePlan> plans_;  ///< run only
  std::size_t next_plan_ = 0;
  std::shared_ptr<const path::EvTable> evs_;  ///< null: not needed yet
  std::unique_ptr<QpSet> qps_;
  std::unique_ptr<PhaseRunner> phase_;
  std::optional<ReceiveOccupancy> occupancy_;  ///< with qp.receive_penalty
  bool connected_ = false, ready_said_ = false;
  bool prepared_said_ = false;  ///< PhaseStart or PhaseReady of the current phase
  bool stop_ = false, stop_said_ = false, bye_said_ = false;
  std::vector<bool> link_up_;
  Time links_down_since_ = Time::never();
  Time connected_at_ = Time::never();

  Snapshot before_;
  PhaseObservation seen_;
  std::uint64_t moved_ = 0;
  Time moved_at_;
  Time pause_since_ = Time::never();  ///< running, and no phase
  std::uint32_t phases_begun_ = 0;
  std::string no_verify_reason_;
  Time window_end_;
  std::uint64_t window_messages_ = 0;
  std::vector<report::PhaseResult> results_;
  std::vector<std::string> warnings_;
};

}  // namespace mrc::endpoint
