// SPDX-License-Identifier: BSD-3-Clause
#include "sim/trace.h"

#include <cstdio>

#include "path/ev_names.h"

namespace mrc::sim {

namespace {

using ull = unsigned long long;

const char* word(TraceEvent::What what) {
  switch (what) {
    case TraceEvent::What::kSent:
      return "sent";
    case TraceEvent::What::kDelivered:
      return "delivered";
    case TraceEvent::What::kDropped:
      return "dropped";
  }
  return "?";
}

const char* name(wire::EndpointOp op) {
  return op == wire::EndpointOp::kEvProbe ? "EV probe" : "port status";
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[192];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string text_of(const transport::TxDesc& d) {
  return format("Write psn %u len %u ev %u%s%s", d.psn.value(), d.payload_bytes, d.ev, d.rtx ? " rtx" : "",
                d.a ? " a" : "");
}

std::string text_of(const transport::ControlDesc& c) {
  switch (c.opcode) {
    case wire::Opcode::kSack: {
      const wire::SackView& s = c.sack;
      const std::string trigger =
          s.pr ? format("probe %u", s.probe_id()) : format("ack %u", s.ack_psn().value());
      return format("SACK cack %u %s base %u bits %016llx ooo %u rcvd %u m %u", s.cack_psn.value(),
                    trigger.c_str(), s.sack_base().value(), static_cast<ull>(s.sack_bitmap), s.ooo_count,
                    s.rcvd_bytes.value(), static_cast<unsigned>(s.m));
    }
    case wire::Opcode::kNack:
      return format("NACK psn %u reason 0x%02x", c.nack.nack_psn.value(),
                    static_cast<unsigned>(c.nack.reason));
    case wire::Opcode::kAck:
      return format("ACK psn %u syndrome 0x%02x msn %u", c.ack.psn.value(), c.ack.syndrome, c.ack.msn);
    case wire::Opcode::kProbe:
      return format("probe %u ev %u", c.probe.probe_id, c.ev);
    case wire::Opcode::kEndpointRequest:
      return format("%s %u", name(c.request.op), c.request.request_id);
    case wire::Opcode::kEndpointResponse:
      return format("%s answer %u", name(c.response.op), c.response.request_id);
    default:
      return format("opcode 0x%02x", static_cast<unsigned>(c.opcode));
  }
}

}  // namespace

std::string to_text(const TraceEvent& e) {
  std::string line = format("%10lld %-9s QP %u to %u plane %u ", static_cast<long long>(e.at.ns),
                            word(e.what), e.from_qp, e.to_qp, e.packet->plane);
  line += e.token->is_data ? text_of(e.token->data) : text_of(e.token->control);
  if (e.packet->ce) line += " ce";
  if (e.packet->trimmed()) line += " trimmed";
  if (e.packet->corrupted) line += " corrupted";
  if (e.what == TraceEvent::What::kDropped) line += std::string(" (") + fabric::name(e.reason) + ")";
  return line;
}

std::string to_text(std::uint32_t qp, const path::EvSet::Event& e) {
  return format("%10lld EV        QP %u ev %u %s to %s by %s", static_cast<long long>(e.at.ns), qp, e.ev,
                path::name(e.from), path::name(e.to), path::name(e.cause));
}

}  // namespace mrc::sim
