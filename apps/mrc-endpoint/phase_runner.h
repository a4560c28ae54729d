// SPDX-License-Identifier: BSD-3-Clause
// One phase of a run at one end: posts, completions, checks and what the control connection has to carry
// about them. Non-blocking; the session steps it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "exchange_messages.h"
#include "exit_code.h"
#include "flow.h"
#include "lane.h"
#include "plan.h"
#include "qp_set.h"
#include "report/histogram.h"

namespace mrc::endpoint {

struct PhaseFailure {
  ExitCode code = ExitCode::kTestFailed;
  std::string reason;
};

/// What to run in this phase at this end.
struct PhaseSetup {
  std::uint32_t index = 0;
  std::string kind;
  PhasePlan plan;
  bool sends = true;
  bool receives = false;
  bool starts = true;  ///< write_lat: this end pings, the other answers
  bool verify = true;
  std::uint64_t seed = 0;
  std::uint32_t post_receives = 0;  ///< receives to post first: all of them in the first phase, then none
  bool flow_up = true;              ///< this end is `run`: names the flows apart in the pattern
};

/// Thread rule: the application's thread.
class PhaseRunner {
 public:
  PhaseRunner(const PhaseSetup& setup, QpSet& qps, std::vector<Lane>& lanes);

  /// Posts receives and poisons a piece of the targets, so that a call takes about a millisecond. Before the
  /// peer may send. True: all is done.
  bool prepare_some();
  /// The peer is prepared: posting may begin.
  void begin(Time now);
  /// One round. `now` was read just before; `clock` reads it again where a latency depends on it.
  void step(Time now, const std::function<Time()>& clock);

  void on_progress(const Progress& p);
  void on_peer_done(const PhaseDone& d);
  void on_peer_report(const PhaseReport& r) { peer_report_ = r; }
  /// No more posts; what is posted still completes.
  void stop(bool interrupted);

  /// Counts for the peer that are due at `now`.
  std::optional<Progress> take_progress(Time now);
  /// Once: our sending is over.
  std::optional<PhaseDone> take_done();
  /// Once: the peer's sending is over and all of it was checked.
  std::optional<PhaseReport> take_report();
  /// Everything was said by both ends.
  [[nodiscard]] bool finished() const {
    return done_said_ && report_said_ && peer_done_ && peer_report_.has_value();
  }
  [[nodiscard]] const std::optional<PhaseFailure>& failure() const { return failure_; }

  // For results
  [[nodiscard]] const PhaseSetup& setup() const { return setup_; }
  [[nodiscard]] std::uint64_t posted() const;
  [[nodiscard]] std::uint64_t completed() const { return completed_; }
  [[nodiscard]] std::uint64_t received() const;
  [[nodiscard]] std::uint64_t checked() const;
  /// Of the target's slots of a QP, those that hold messages nobody has checked yet.
  [[nodiscard]] unsigned waiting_percent(std::size_t qp) const;
  /// Poisoned before and filled with data since the phase began.
  [[nodiscard]] std::uint64_t filled_bytes() const { return filled_bytes_; }
  /// Posting has begun.
  [[nodiscard]] bool begun() const { return begun_; }
  /// This end has sent all that it will, and it was acknowledged.
  [[nodiscard]] bool sent_all() const { return done_said_; }
  [[nodiscard]] PhaseReport own_report() const;
  [[nodiscard]] const std::optional<PhaseReport>& peer_report() const { return peer_report_; }
  [[nodiscard]] const report::Histogram& latency() const { return latency_; }
  [[nodiscard]] Time first_post() const { return first_post_; }
  [[nodiscard]] Time last_completion() const { return last_completion_; }
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  /// Rounds in which a QP could have posted but for slots the receiver had not released.
  [[nodiscard]] std::uint64_t release_waits() const { return release_waits_; }
  /// Test hook: the piece [offset, offset + bytes) of this message of QP 0 is poisoned again after it
  /// arrived, as if it had never been placed.
  void lose_placement(std::uint64_t message, std::uint64_t offset, std::uint64_t bytes);

 private:
  struct PerQp {
    SendFlow send;
    ReceiveFlow receive;
    std::vector<Time> posted_at;  // by message % size
    std::uint64_t pings = 0;      // write_lat: messages of the peer seen
    std::uint32_t receives_posted = 0;
    std::uint64_t said_completed = 0, said_released = 0;
    std::uint64_t expected = 0;  // of the peer, known with its PhaseDone
    std::uint64_t filled = 0;    // bytes of the message to be posted next
  };

  void take_completions(const std::function<Time()>& clock);
  void on_completion(const transport::Completion& wc, Time now);
  void on_immediate(std::uint32_t qp, const transport::Completion& wc, Time now);
  bool post_receives(std::size_t qp);
  void post_all(Time now, const std::function<Time()>& clock);
  std::uint64_t fill_some(PerQp& q, unsigned char* source, std::uint64_t budget_bytes);
  bool post_one(std::uint32_t qp, Time now);
  void check_all();
  [[nodiscard]] bool may_post(const PerQp& q) const;
  /// write_lat needs no counts over the control connection: message m of one end says that the other end's
  /// messages up to m - half the slots were checked; both ends keep to it before they post.
  [[nodiscard]] std::uint64_t half() const { return std::max<std::uint64_t>(1, setup_.plan.slots / 2); }
  void fail(ExitCode code, std::string reason);

  const PhaseSetup setup_;
  QpSet& qps_;
  std::vector<Lane>& lanes_;
  const bool immediate_;
  const bool ping_pong_;
  std::vector<PerQp> per_qp_;
  std::size_t next_post_ = 0, next_check_ = 0, next_prepare_ = 0;
  std::uint64_t filled_bytes_ = 0;
  bool begun_ = false;
  bool interrupted_ = false;
  bool peer_done_ = false, done_said_ = false, report_said_ = false;
  std::optional<PhaseReport> peer_report_;
  std::optional<PhaseFailure> failure_;
  report::Histogram latency_;
  std::uint64_t completed_ = 0;
  std::uint64_t release_waits_ = 0;
  std::uint64_t immediates_bad_ = 0;
  std::string first_bad_immediate_;
  Time first_post_ = Time::never();
  Time last_completion_;
  Time next_progress_, next_scan_;
  struct Lost {
    std::uint64_t message = ~0ULL, offset = 0, bytes = 0;
  } lost_;
};

}  // namespace mrc::endpoint
