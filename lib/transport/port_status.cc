// SPDX-License-Identifier: BSD-3-Clause
#include "transport/port_status.h"

#include <bit>
#include <utility>

namespace mrc::transport {

void PortReport::change(std::uint32_t planes_up, std::uint16_t request_id, Time now) {
  planes_up &= planes_;
  if (planes_up == up_) return;
  up_ = planes_up;
  id_ = request_id;
  // Even when this is what the peer knew before: it may have heard of the change in between.
  due_ = now;
  give_up_ = now + kGiveUp;
}

bool PortReport::next_request(Time now, std::uint32_t usable, wire::EndpointRequestView& out,
                              std::uint8_t& plane) {
  if (due_ > now) return false;
  if (now >= give_up_) {
    due_ = Time::never();
    return false;
  }
  usable &= up_;
  if (usable == 0) return false;
  const std::uint32_t later_planes = usable & ~((2U << last_plane_) - 1U);
  last_plane_ = static_cast<std::uint8_t>(std::countr_zero(later_planes != 0 ? later_planes : usable));
  plane = last_plane_;
  out = wire::EndpointRequestView{};
  out.request_id = id_;
  out.op = wire::EndpointOp::kPortStatusUpdate;
  out.port_status_mask = port_status_mask(up_);
  out.tx_timestamp = tick_of(now);
  due_ = now + kRepeat;
  return true;
}

void PortReport::on_response(const wire::EndpointResponseView& response) {
  if (due_.is_never() || response.op != wire::EndpointOp::kPortStatusUpdate || response.request_id != id_)
    return;
  due_ = Time::never();
}

bool PeerPorts::on_request(const wire::EndpointRequestView& request, Time now) {
  if (request.op != wire::EndpointOp::kPortStatusUpdate) return false;
  const RequestId id{request.request_id};
  const bool fresh = seen_.is_never() || now - seen_ >= kMemory;
  if (!fresh && id - newest_ < 0) return false;
  newest_ = id;
  seen_ = now;
  const std::uint32_t up = planes_of_port_status(request.port_status_mask);
  return std::exchange(up_, up) != up;
}

}  // namespace mrc::transport
