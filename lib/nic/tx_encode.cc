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
/// cannot go without an EV of its own: any on that plane that is not denied.
bool control_bits(const WorkerCore& w, const QpHome& home, const transport::ControlDesc& c,
                  wire::EvBits& bits) {
  if (c.ev != path::kNoEv) {
    bits = ev_bits(home, c.ev);
    return true;
  }
  if (home.templates[c.port].encap() != wire::Encap::kNone) {
    for (std::size_t i = 0; i < home.evs->size(); ++i) {
      const auto ev = static_cast<path::EvIndex>(i);
      if ((*home.evs)[i].port != c.port || home.qp.ev_set().state(ev) == path::EvState::kDenied) continue;
      bits = ev_bits(home, ev);
      return true;
    }
    return false;
  }
  const wire::EntropyFields fields = wire::fields_of(w.nic.config.ev_order, c.entropy);
  bits.udp_sport = fields.udp_sport;
  bits.flow_label = fields.flow_label;
  return true;
}

/// Such a payload is copied first and CRCed together with its headers, as one short piece.
constexpr std::uint32_t kShortPayloadBytes =
    wire::kMaxShortBytes - (sizeof(wire::Ipv6Header) + sizeof(wire::UdpHeader) + wire::kMaxWriteHeaderBytes);
static_assert(kShortPayloadBytes % 4 == 0);
bool is_short(std::uint32_t payload_bytes) {
  return payload_bytes <= kShortPayloadBytes;
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

// In passes, so that a CRC does not read what is still in the store buffer, and the CRCs of headers and short
// packets, whose latency is long and whose work is short, overlap. A long payload is CRCed at its source,
// which brings it into the cache, then copied; that drives out what the passes before have touched, so
// descriptors and mbufs are done with by then.
void encode_data(WorkerCore& w, QpHome& home, std::span<const transport::TxDesc> descs, rte_mbuf** mbufs) {
  struct Frame {
    std::uint8_t* payload;
    const std::uint8_t* source;
    std::uint16_t payload_bytes;
    std::uint16_t frame_bytes;
    std::uint8_t port;
  };
  std::array<Frame, kBurst> frames;
  std::array<wire::IcrcPiece, kBurst> begun;
  std::array<std::uint32_t, kBurst> crc;
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const transport::TxDesc& d = descs[i];
    assert(d.port < w.ports.size() && d.ev < home.evs->size());
    std::uint8_t* payload = payload_of(mbufs[i]);
    const std::uint32_t header_bytes = encode_headers(w, home, d, payload);
    if (is_short(d.payload_bytes) && d.payload_bytes != 0)
      std::memcpy(payload, source_of(d), d.payload_bytes);
    const std::uint32_t padded = d.payload_bytes + wire::pad(payload, d.payload_bytes);
    set_frame(mbufs[i], header_bytes, padded + wire::kIcrcBytes);
    begun[i] = wire::icrc_piece(home.templates[d.port], payload, header_bytes,
                                is_short(d.payload_bytes) ? padded : 0);
    frames[i] = {payload, source_of(d), d.payload_bytes, mbufs[i]->data_len, d.port};
    count_data(w, home, d);
  }
  wire::icrc_begin({begun.data(), descs.size()}, crc.data());
  for (std::size_t i = 0; i < descs.size(); ++i) {
    const Frame& f = frames[i];
    const std::uint32_t pad = wire::pad_bytes(f.payload_bytes);
    if (!is_short(f.payload_bytes)) {
      crc[i] = wire::icrc_extend(crc[i], {f.source, f.payload_bytes});
      std::memcpy(f.payload, f.source, f.payload_bytes);
      if (pad != 0) crc[i] = wire::icrc_extend(crc[i], {f.payload + f.payload_bytes, pad});
    }
    wire::icrc_store(f.payload + f.payload_bytes + pad, crc[i]);
  }
  for (std::size_t i = 0; i < descs.size(); ++i) {
    stage(w, frames[i].port, mbufs[i], frames[i].frame_bytes, PortStage::Kind::kData);
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
    case wire::Opcode::kEndpointRequest: {  // an EV Probe (D19)
      wire::EndpointRequestView request = c.request;
      request.request_id = w.ev_probes.begin(w.index, home.qpn, c.request.request_id);
      header_bytes = encode_endpoint_request(path, meta, request, end);
      if (c.ev != path::kNoEv) ++home.ev_stats[c.ev].tx_probes;
      break;
    }
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
  stage(w, plane, m, m->data_len, PortStage::Kind::kControl);
  ++w.stats.ports[plane].tx_control_pkts;
}

}  // namespace mrc::nic
