// SPDX-License-Identifier: BSD-3-Clause
// The oracle of one direction: what the requestor of one host does to the memory of the other. It knows the
// truth of both ends, keeps its own small model of it, and judges every descriptor, verdict, control packet
// and completion against that model. What the simulator checks in every run too stands in lib/sim.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "packet.h"
#include "scenario.h"
#include "sim/outstanding.h"
#include "sim/sack_truth.h"
#include "transport/qp.h"

namespace mrc::property {

struct Message {
  transport::WorkRequest wr;
  MessagePlan plan;
  std::int64_t first = 0;  ///< index of its first PSN, counted from sq_psn
  std::int64_t last = 0;
  std::size_t source = 0;  ///< offsets into the two regions
  std::size_t target = 0;
  Msn msn;
  Rqmsn rqmsn;
  bool send_done = false;
  bool recv_done = false;
  bool closed = false;  ///< the application has taken the target back
  transport::WcStatus status = transport::WcStatus::kSuccess;
};

/// What the oracle knows of one PSN.
struct Record {
  std::uint32_t message = 0;
  std::uint32_t offset = 0;
  std::uint32_t nominal = 0;
  std::uint16_t payload = 0;
  std::uint16_t sends = 0;
  Time last_tx;
  std::uint32_t retry_count = 0;  ///< requestor: k at that sending
  path::EvIndex ev = path::kNoEv;
  std::uint8_t port = 0;
  bool in_memory = false;    ///< responder: placed
  std::uint16_t lagged = 0;  ///< responder: arrivals too far above what is placed, not NACKed yet
  bool known = false;        ///< requestor: told by a SACK or ACK that was delivered
  std::array<std::pair<std::uint32_t, Tick>, 3> arrivals{};  ///< newest first: entropy and timestamp
};

/// Circumstances of one data packet that only the host knows.
struct TxContext {
  Time now;
  std::int64_t inflight_before = 0;
  std::int64_t cwnd = 0;
  std::uint32_t ports_left = 0;  ///< ports with credit left after the burst
  bool fallback = false;         ///< the EV set counted fallbacks in this burst
  bool tail_repeat = false;      ///< so did the QP: D14 line 13
};

class Stream {
 public:
  Stream(const Scenario& s, int sender, const path::EvTable& sender_table);

  // Application
  /// The next planned message as a work request; lays out its memory.
  const transport::WorkRequest& prepare(std::size_t message);
  void on_posted(std::size_t message);
  void on_send_completion(const transport::Completion& wc);
  void on_recv_completion(const transport::Completion& wc);
  [[nodiscard]] std::size_t posted() const { return posted_; }
  [[nodiscard]] std::size_t completed() const { return completed_; }
  [[nodiscard]] std::size_t received() const { return received_; }
  [[nodiscard]] std::size_t immediates_posted() const { return immediates_.size(); }
  [[nodiscard]] std::size_t planned() const { return s_.side[sender_].messages.size(); }
  [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }

  // Requestor
  /// Judges a data packet and returns it as the channel takes it.
  Packet on_tx(const transport::TxDesc& d, const transport::Qp& qp, const TxContext& context);
  /// `created`: when the peer sent it; `now`: when it arrived, though the host may have been away.
  void on_sack_delivered(const wire::SackView& sack, Time created, Time now);
  void on_nack_delivered(const wire::NackView& nack, Time now) { sent_.on_nack(nack, now); }
  void on_ack_delivered(const wire::AckView& ack);
  void on_timer(Time now) { sent_.on_timer(now); }
  void on_planes_out(std::uint32_t planes, Time now) { sent_.on_planes_out(planes, now); }
  void on_peer_port(std::uint8_t port, bool up, Time now) {
    peer_down_ = up ? 0 : 1U << port;
    sent_.on_planes_out(peer_down_, now);
  }
  /// I2: the verdict of an EV needs a witness of this moment.
  void check_event(const path::EvSet::Event& event) const;
  /// So does a SKIP, and a plane that is given up.
  void check_skip(Time at) const;
  void check_silence(std::uint32_t planes) const;
  void check_inflight(const transport::Qp& qp) const;
  /// Planes went DOWN: what left for them within the last round trip is given up with them (D9).
  void check_plane_flush(const transport::Qp& qp, std::uint32_t planes, Time now) const;

  // Responder
  /// The packet belongs to the message that is to fail.
  [[nodiscard]] bool is_bad(Psn psn) const;
  void on_arrival(const wire::WriteView& write, const wire::RxMeta& meta, transport::WriteVerdict verdict,
                  const transport::Qp& qp);
  void on_trimmed_arrival(const wire::TrimmedView& packet, const wire::RxMeta& meta);
  void place(Psn psn, const std::vector<std::uint8_t>& payload);
  void on_sack_sent(const wire::SackView& sack, const transport::Qp& qp);
  void on_nack_sent(const wire::NackView& nack);
  void on_ack_sent(const wire::AckView& ack) const;

  // End
  void check_finished() const;   ///< everything completed with success and every byte is where it belongs
  void check_untouched() const;  ///< what the application wrote after completion still stands (I4)
  [[nodiscard]] std::int64_t packets_sent_once() const { return max_sent_ + 1; }
  [[nodiscard]] std::uint64_t retransmissions() const { return retransmissions_; }
  [[nodiscard]] std::int64_t index_of(Psn psn) const;
  [[nodiscard]] bool all_known() const { return known_upto_ == max_sent_; }
  /// When the oldest PSN that the requestor does not know received was sent first.
  [[nodiscard]] Time silence_began() const { return silence_began_; }
  /// The oldest PSN that was sent and is not known received; null when there is none.
  [[nodiscard]] const Record* oldest_unknown() const;

 private:
  void check_header(const transport::TxDesc& d, const Message& m, const Record& r) const;
  void check_windows(const transport::TxDesc& d, std::int64_t index, const transport::Qp& qp,
                     const TxContext& c);
  void check_witness(const transport::TxDesc& d, std::int64_t index, const TxContext& c) const;
  void check_path(const transport::TxDesc& d, const Record& r, const transport::Qp& qp,
                  const TxContext& c) const;
  void mark_known(std::int64_t index);
  void close(Message& m);
  [[nodiscard]] bool bytes_match(const Message& m) const;
  [[nodiscard]] wire::Opcode expected_opcode(const Message& m, std::int64_t index) const;

  const Scenario& s_;
  const path::EvTable& table_;
  const int sender_;
  const transport::QpAttr& attr_;  ///< requestor's
  const transport::QpAttr& peer_;  ///< responder's
  std::vector<Message> messages_;
  std::vector<Record> records_;
  std::vector<std::uint32_t> immediates_;  ///< messages with immediate, in order
  std::vector<std::uint8_t> source_, target_;
  std::uint64_t source_base_, target_base_;
  std::size_t posted_ = 0, completed_ = 0, received_ = 0;
  std::size_t closed_upto_ = 0;       ///< all messages before this are closed
  std::uint32_t in_memory_upto_ = 0;  ///< all messages before this are in memory
  bool failed_ = false;

  std::int64_t max_sent_ = -1;
  std::int64_t known_upto_ = -1;  ///< everything up to here is known received by the requestor
  std::int64_t acked_ = -1;       ///< newest PSN of a Transport ACK delivered
  std::size_t immediates_started_ = 0, immediates_acked_ = 0;
  std::int64_t unknown_bytes_ = 0;                    ///< nominal bytes sent and not known received
  std::int64_t accepted_unknown_bytes_ = 0;           ///< of these, what the responder has accepted
  std::int64_t known_bytes_ = 0;                      ///< nominal bytes of what is known received
  std::int64_t reported_bytes_ = 0;                   ///< by the newest rcvd_bytes delivered
  std::int64_t newest_units_ = 0, newest_cack_ = -1;  ///< of the SACK whose MPR holds
  std::int64_t mpr_ = 0;                              ///< blocks (D16)
  std::uint64_t retransmissions_ = 0;
  Time silence_began_;
  sim::Outstanding sent_;
  std::uint32_t peer_down_ = 0;  ///< as the peer reported

  sim::SackTruth received_truth_;
  std::int64_t placed_ = -1;
};

}  // namespace mrc::property
