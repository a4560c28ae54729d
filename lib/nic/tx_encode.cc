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

/// Payloads up to this go through the cache twice at no cost.
constexpr std::uint32_t kShortPayloadBytes = 256;
bool is_short(const transport::TxDesc& d) {
  return d.payload_bytes <= kShortPayloadBytes;
}
const std::uint8_t* source_of(const transport::TxDesc& d) {
  return reinterpret_cast<const std::uint8_t*>(d.source);
}

std::uint32_t encode_headers(const WorkerCore& w, const QpHome& home, const transport::TxDesc& d,
                             std::uint8_t* payload) {
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
  const wire::SendMeta meta{home.dest_qpn, w.nic.dscp.tos(d.dscp), ev_bits(home, d.ev)};
  return encode_write(home.templates[d.port], meta, view, payload);
}

void count_data(WorkerCore& w, QpHome& home, const transport::TxDesc& d) {
  EvStats& ev = home.ev_stats[d.ev];
  ++ev.tx_pkts;
  ev.tx_bytes += d.payload_bytes;
  ev.tx_rtx += d.rtx ? 1 : 0;
  ++w.stats.ports[d.port].tx_data_pkts;
}

}  // namespace

// In passes, so that a CRC does not read what is still in the store buffer, and the CRCs of the headers,
// whose latency is long and whose work is short, overlap. A long payload is CRCed at its source, which brings
// it into the cache, then copied; a short one is copied first and CRCed together with the headers.
void encode_data(WorkerCore& w, QpHome& home, std::span<const transport::TxDesc> descs, rte_mbuf** mbufs) {
  std::array<std::uint32_t, kBurst> header_bytes;
  std::array<std::uint32_t, kBurst> crc;
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const transport::TxDesc& d = descs[i];
    assert(d.port < w.ports.size() && d.ev < home.evs->size());
    std::uint8_t* payload = payload_of(mbufs[i]);
    header_bytes[i] = encode_headers(w, home, d, payload);
    if (is_short(d)) std::memcpy(payload, source_of(d), d.payload_bytes);
  }
  for (std::size_t i = 0; i < descs.size(); ++i) {
    if (is_short(descs[i])) continue;
    crc[i] = icrc_of_headers(home.templates[descs[i].port], payload_of(mbufs[i]), header_bytes[i]);
  }
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const transport::TxDesc& d = descs[i];
    std::uint8_t* payload = payload_of(mbufs[i]);
    std::uint32_t tail = 0;
    if (is_short(d)) {
      tail = wire::seal(home.templates[d.port], payload, header_bytes[i], d.payload_bytes);
    } else {
      crc[i] = wire::icrc_extend(crc[i], {source_of(d), d.payload_bytes});
      std::memcpy(payload, source_of(d), d.payload_bytes);
      tail = wire::seal_with(crc[i], payload, d.payload_bytes);
    }
    set_frame(mbufs[i], header_bytes[i], d.payload_bytes + tail);
    stage(w, d.port, mbufs[i], PortStage::Kind::kData);
    count_data(w, home, d);
  }
}

bool encode_control(WorkerCore& w, QpHome& home, const transport::ControlDesc& c, rte_mbuf* m) {
  wire::EvBits bits;
  if (!control_bits(w, home, c, bits)) return false;
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
  stage(w, plane, m, PortStage::Kind::kControl);
  ++w.stats.ports[plane].tx_control_pkts;
}

}  // namespace mrc::nic
