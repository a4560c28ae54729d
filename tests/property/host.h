// SPDX-License-Identifier: BSD-3-Clause
// One end: a Qp, the memory around it, an application and the poll loop that a NIC would run. Drives two
// streams' oracles: the one it sends and the one it receives.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "base/rng.h"
#include "channel.h"
#include "codec.h"
#include "stream.h"
#include "trace.h"

namespace mrc::property {

class Host {
 public:
  Host(const Scenario& s, int index, std::shared_ptr<const path::EvTable> table, Stream& out, Stream& in,
       Channel& channel, Trace& trace);

  void start(Time now);
  void receive(Packet packet, Time now);
  /// The poll loop once: timers, placements, application, control, data.
  void service(Time now);
  [[nodiscard]] Time next_service() const { return next_service_; }
  void abort(Time now);
  /// QP to RESET: its share of inflight leaves the controller (I1).
  void reset(Time now);

  [[nodiscard]] transport::Qp& qp() { return *qp_; }
  [[nodiscard]] const transport::Qp& qp() const { return *qp_; }
  [[nodiscard]] bool quiet() const;  ///< nothing to place, nothing held by a stall
  [[nodiscard]] bool all_evs_back() const;
  [[nodiscard]] Time error_at() const { return error_at_; }
  /// When the retry clock of an endless silence began: the last advance of cack, or the first sending of what
  /// now is the oldest unknown PSN.
  [[nodiscard]] Time silent_since() const { return later(last_advance_, out_.silence_began()); }
  void check_counters() const;

 private:
  void handle(Packet& packet, Time now);
  void on_write(const Packet& packet, const wire::WriteView& write, Time now);
  void on_sack(const Packet& packet, const wire::SackView& sack, Time now);
  void place_due(Time now);
  void run_application(Time now);
  void post(Time now);
  void drain_completions(Time now);
  void send_control(Time now);
  void emit_control(const transport::ControlDesc& d, Time now);
  void answer_endpoint(const wire::EndpointRequestView& request, std::uint8_t port, Time now);
  void watch_ev_probe(const transport::ControlDesc& d);
  void on_ev_answer(const wire::EndpointResponseView& response, Time now);
  void send_data(Time now);
  std::size_t send_burst(Time now, transport::PortCredits& credits, std::size_t most, bool& last_asked);
  void watch(Time now);
  void change_ports(Time now);
  void watch_evs();
  void watch_planes(Time now);
  void plan_next(Time now);
  void transmit(Packet packet, Time now);
  void check_ack_plane(std::uint8_t port);
  [[nodiscard]] transport::PortCredits fresh_credits(Time now) const;
  [[nodiscard]] const Stall* stall_at(Time now) const;
  [[nodiscard]] Duration since_start(Time now) const { return now - s_.start; }

  struct Placement {
    Time due;
    Psn psn;
    std::vector<std::uint8_t> payload;
  };
  struct Seen {  // what was handed to the QP, for its counters
    std::uint64_t writes = 0, sacks = 0, nacks = 0, acks = 0, probes = 0, trimmed = 0, marks = 0;
  };

  struct ReverseWatch {  // EV Probes of one plane without an answer (D19)
    path::EvIndex ev = path::kNoEv;
    Time proof;
    int unanswered = 0;
  };

  const Scenario& s_;
  const SidePlan& plan_;
  const int index_;
  std::shared_ptr<const path::EvTable> table_;
  Stream& out_;
  Stream& in_;
  Channel& channel_;
  Trace& trace_;
  Rng rng_;
  Codec codec_;
  cc::Qpcc qpcc_;
  std::unique_ptr<transport::Qp> qp_;

  std::vector<Placement> placements_;
  std::deque<Packet> inbox_;  ///< arrived while the host was away
  bool was_away_ = false;
  Time away_since_;
  std::deque<std::uint64_t> receives_;  ///< wr_ids posted, oldest first
  std::uint64_t receives_posted_ = 0;
  std::size_t next_message_ = 0;
  Time next_post_;
  Time next_round_;
  Time pause_until_;  ///< nothing could be sent: no further try before, unless a deadline says so
  Time next_service_ = Time::never();
  bool port_was_down_ = false;
  bool peer_was_down_ = false;
  std::uint64_t planes_down_ = 0;
  std::uint32_t silent_ = 0;
  std::uint32_t idle_rounds_ = 0;
  std::uint32_t spins_ = 0;  ///< services in a row that left something due at once

  transport::QpState last_state_ = transport::QpState::kReset;
  Time error_at_ = Time::never();
  Psn last_unack_;
  Time last_advance_;
  Seen seen_;
  std::uint32_t heard_ = 0;  ///< planes of the Writes and probes since the last ACK or NAK left
  std::uint64_t emitted_sacks_ = 0, emitted_nacks_ = 0, emitted_acks_ = 0, emitted_probes_ = 0;
  std::uint64_t emitted_marks_ = 0;
  std::uint64_t emitted_ev_probes_ = 0, ev_answers_ = 0;
  ReverseWatch reverse_[kMaxPlanes];
  std::vector<path::EvIndex> probed_;  ///< by request id
};

}  // namespace mrc::property
