// SPDX-License-Identifier: BSD-3-Clause
// Port Status Updates of one endpoint towards one peer, and the peer's (MRC 7.4.8, D19). They belong to no
// QP: the host keeps one of each a peer and tells all QPs to it.
#pragma once

#include <cstdint>

#include "base/serial.h"
#include "base/time.h"
#include "wire/types.h"

namespace mrc::transport {

using RequestId = Serial<16, struct RequestIdTag>;  ///< BTH.psn[15:0] of endpoint operations

/// The mask on the wire: bit N is port N, counted from 1 (C21). Ours: bit p is plane p.
constexpr std::uint32_t port_status_mask(std::uint32_t planes_up) {
  return planes_up << 1;
}
constexpr std::uint32_t planes_of_port_status(std::uint32_t mask) {
  return mask >> 1;
}

/// What we tell a peer of our ports: each change again and again until the answer to the newest request
/// comes. Value type, one owner. A peer that has heard nothing takes all ports for up.
class PortReport {
 public:
  static constexpr Duration kRepeat = milliseconds(1);
  static constexpr Duration kGiveUp = seconds(1);

  /// `planes`: those that exist.
  explicit PortReport(std::uint32_t planes = 0) : planes_(planes), up_(planes) {}

  /// Ports went up or down. `request_id`: of requests to this peer the newest, as a 16-bit serial number.
  void change(std::uint32_t planes_up, std::uint16_t request_id, Time now);
  [[nodiscard]] std::uint16_t request_id() const { return id_; }  ///< of the newest request
  /// When next_request has something, never() when there is nothing to tell.
  [[nodiscard]] Time deadline() const { return due_; }
  /// The request that is due at `now`, and the plane to send it over: another one each time, of those in
  /// `usable`. False: nothing is due, or no plane is usable.
  bool next_request(Time now, std::uint32_t usable, wire::EndpointRequestView& out, std::uint8_t& plane);
  /// Any Endpoint Response; only that to the newest request counts.
  void on_response(const wire::EndpointResponseView& response);

 private:
  std::uint32_t planes_;
  std::uint32_t up_;
  std::uint16_t id_ = 0;
  std::uint8_t last_plane_ = 31;
  Time due_ = Time::never();
  Time give_up_;
};

/// What a peer tells us. Each of its requests is answered; an older one changes nothing.
class PeerPorts {
 public:
  static constexpr Duration kMemory = seconds(1);  ///< after that any id is news

  /// True: planes_up() is new.
  bool on_request(const wire::EndpointRequestView& request, Time now);
  [[nodiscard]] std::uint32_t planes_up() const { return up_; }

 private:
  std::uint32_t up_ = ~0U;
  RequestId newest_;
  Time seen_ = Time::never();
};

/// The response to any Endpoint Request: op, id and timestamp come back, 0 if there was none (1.8, C12).
constexpr wire::EndpointResponseView response_to(const wire::EndpointRequestView& request) {
  wire::EndpointResponseView r;
  r.request_id = request.request_id;
  r.op = request.op;
  r.tx_timestamp = request.has_timestamp ? request.tx_timestamp : Tick{};
  return r;
}

}  // namespace mrc::transport
