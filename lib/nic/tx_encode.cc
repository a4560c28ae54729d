// SPDX-License-Identifier: BSD-3-Clause
// One descriptor of the transport becomes one frame, encoded once, straight into its mbuf.
#include <cassert>
#include <cstring>

#include "nic/core.h"
#include "wire/encode.h"
#include "wire/icrc.h"

namespace mrc::nic {
namespace {

std::uint8_t* payload_of(rte_mbuf* m) {
  return static_cast<std::uint8_t*>(m->buf_addr) + wire::kPayloadOffset;
}

/// The frame spans header_bytes before kPayloadOffset and tail_bytes behind.
void set_frame(rte_mbuf* m, std::uint32_t header_bytes, std::uint32_t tail_bytes) {
  m->data_off = static_cast<std::uint16_t>(wire::kPayloadOffset - header_bytes);
  m->data_len = static_cast<std::uint16_t>(header_bytes + tail_bytes);
  m->pkt_len = m->data_len;
  m->ol_flags = 0;
}

wire::EvBits ev_bits(const QpHome& home, path::EvIndex ev) {
  const path::EvEntry& e = (*home.evs)[ev];
  return {e.udp_sport, e.flow_label, e.value.data()};
}

/// Where a control packet goes: an EV of ours, or the entropy of its trigger when we have none (C30). SRv6
/// cannot go without an EV of its own: any on that plane.
bool control_bits(const WorkerCore& w, const QpHome& home, const transport::ControlDesc& c,
                  wire::EvBits& bits) {
  if (c.ev != path::kNoEv) {
    bits = ev_bits(home, c.ev);
    return true;
  }
  if (home.templates[c.port].encap() != wire::Encap::kNone) {
    for (std::size_t i = 0; i < home.evs->size(); ++i) {
      if ((*home.evs)[i].port != c.port) continue;
      bits = ev_bits(home, static_cast<path::EvIndex>(i));
      return true;
    }
    return false;
  }
  const bool high_first = w.nic.config.ev_order == path::EvOrder::kB;  // C7
  bits.udp_sport = static_cast<std::uint16_t>(high_first ? c.entropy >> 16 : c.entropy);
  bits.flow_label = (high_first ? c.entropy : c.entropy >> 16) & 0xFFFF;
  return true;
}

}  // namespace

// Encode, ICRC over the source while that brings it into the cache, copy, trailer.
void encode_data(WorkerCore& w, QpHome& home, const transport::TxDesc& d, rte_mbuf* m) {
  assert(d.port < w.ports.size() && d.ev < home.evs->size());
  const wire::HeaderTemplate& path = home.templates[d.port];
  wire::WriteView view;
  view.bth = {d.opcode, d.se, d.a, d.rtx, d.ts, d.psn};
  view.rqmsn = d.rqmsn;
  view.msn = d.msn;
  view.tx_timestamp = d.tx_timestamp;
  view.va = d.va;
  view.rkey = d.rkey;
  view.dmalen = d.dmalen;
  view.immdt = d.immdt;
  view.payload_bytes = d.payload_bytes;
  std::uint8_t* payload = payload_of(m);
  const std::uint32_t header_bytes =
      encode_write(path, {home.dest_qpn, w.nic.dscp.tos(d.dscp), ev_bits(home, d.ev)}, view, payload);
  std::uint32_t crc = icrc_of_headers(path, payload, header_bytes);
  if (d.payload_bytes != 0) {
    const auto* source = reinterpret_cast<const std::uint8_t*>(d.source);
    crc = wire::icrc_extend(crc, {source, d.payload_bytes});
    std::memcpy(payload, source, d.payload_bytes);
  }
  set_frame(m, header_bytes, d.payload_bytes + wire::seal_with(crc, payload, d.payload_bytes));

  EvStats& ev = home.ev_stats[d.ev];
  ++ev.tx_pkts;
  ev.tx_bytes += d.payload_bytes;
  ev.tx_rtx += d.rtx ? 1 : 0;
  ++w.stats.ports[d.port].tx_data_pkts;
  stage(w, d.port, m);
}

bool encode_control(WorkerCore& w, QpHome& home, const transport::ControlDesc& c) {
  wire::EvBits bits;
  if (!control_bits(w, home, c, bits)) return false;
  rte_mbuf* m = take_control_mbuf(w);
  if (m == nullptr) return false;
  const wire::HeaderTemplate& path = home.templates[c.port];
  const wire::SendMeta meta{home.dest_qpn, w.nic.dscp.tos(c.dscp), bits};
  std::uint8_t* end = payload_of(m);
  std::uint32_t header_bytes = 0;
  switch (c.opcode) {
    case wire::Opcode::kSack:
      header_bytes = encode_sack(path, meta, c.sack, end);
      break;
    case wire::Opcode::kNack:
      header_bytes = encode_nack(path, meta, c.nack, end);
      break;
    case wire::Opcode::kAck:
      header_bytes = encode_ack(path, meta, c.ack, end);
      break;
    default:
      assert(c.opcode == wire::Opcode::kProbe);
      header_bytes = encode_probe(path, meta, c.probe, end);
      if (c.ev != path::kNoEv) ++home.ev_stats[c.ev].tx_probes;
      break;
  }
  stage_control(w, c.port, m, header_bytes, wire::seal(path, end, header_bytes, 0));
  return true;
}

void stage_control(WorkerCore& w, std::size_t plane, rte_mbuf* m, std::uint32_t header_bytes,
                   std::uint32_t trailer_bytes) {
  set_frame(m, header_bytes, trailer_bytes);
  stage(w, plane, m);
  ++w.stats.ports[plane].tx_control_pkts;
}

}  // namespace mrc::nic
