// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <fmt/format.h>

#include "report/packet_fields.h"
#include "wire/headers.h"

namespace mrc::report {
namespace {

using Json = nlohmann::ordered_json;
using wire::FrameView;

std::string hex64(std::uint64_t v) {
  return fmt::format("0x{:016x}", v);
}

const std::uint8_t* at(const DecodedPacket& p, std::size_t offset) {
  return p.bytes.data() + offset;
}

/// Headers are reached by their place in the bytes; this says whether the place is there.
bool has(const DecodedPacket& p, std::size_t offset, std::size_t n) {
  return offset + n <= p.bytes.size();
}

Json eth_json(const DecodedPacket& p) {
  const auto h = wire::load_header<wire::EthernetHeader>(p.bytes.data());
  Json vlans = Json::array();
  for (std::size_t i = 0; i < p.frame.vlan_tags; ++i) {
    const std::uint16_t tci = wire::load_be16(at(p, 14 + 4 * i));
    vlans.push_back({{"tpid", wire::load_be16(at(p, 12 + 4 * i))}, {"pcp", tci >> 13}, {"vid", tci & 0xFFF}});
  }
  Json out{{"dst", mac_text(h.dst)}, {"src", mac_text(h.src)}};
  if (!vlans.empty()) out["vlan"] = std::move(vlans);
  return out;
}

Json ip_json(const DecodedPacket& p, std::size_t offset) {
  if (at(p, offset)[0] >> 4 == 4) {
    const auto h = wire::load_header<wire::Ipv4Header>(at(p, offset));
    return {
        {"version", 4},     {"src", ip_text(h.src)}, {"dst", ip_text(h.dst)},         {"dscp", h.tos >> 2},
        {"ecn", h.tos & 3}, {"ttl", h.ttl},          {"length", h.total_length.get()}};
  }
  const auto h = wire::load_header<wire::Ipv6Header>(at(p, offset));
  const std::uint32_t word = h.version_tc_flow;
  return {{"version", 6},
          {"src", ip_text(h.src)},
          {"dst", ip_text(h.dst)},
          {"dscp", word >> 22 & 0x3F},
          {"ecn", word >> 20 & 3},
          {"flow_label", word & 0xFFFFF},
          {"hop_limit", h.hop_limit},
          {"length", h.payload_length.get()}};
}

Json srv6_json(const DecodedPacket& p) {
  Json out = ip_json(p, p.frame.l3_offset);
  out.erase("version");
  Json segments = Json::array();
  const std::size_t srh = p.frame.srh_offset;
  if (srh != 0) {
    // As long as the list that last_entry announces lies inside the header.
    const std::size_t count = std::min<std::size_t>(at(p, srh)[4] + 1U, at(p, srh)[1] / 2U);
    for (std::size_t i = 0; i < count; ++i) segments.push_back(ip_text({at(p, srh + 8 + 16 * i), 16}));
    out["segments_left"] = at(p, srh)[3];
  }
  out["segments"] = std::move(segments);
  return out;
}

Json bth_json(const DecodedPacket& p) {
  const auto h = wire::load_header<wire::Bth>(at(p, p.frame.bth_offset));
  return {{"se", (h.flags & wire::kBthSe) != 0},
          {"m", (h.flags & wire::kBthM) != 0},
          {"pad", h.flags >> wire::kBthPadShift & 3},
          {"tver", h.flags & wire::kBthTverMask},
          {"pkey", h.pkey.get()},
          {"dqp", h.dqp.get()},
          {"a", (h.a_rtx_ts & wire::kBthA) != 0},
          {"rtx", (h.a_rtx_ts & wire::kBthRtx) != 0},
          {"ts", (h.a_rtx_ts & wire::kBthTs) != 0},
          {"psn", h.psn.get()}};
}

void put_timestamp(Json& out, const wire::Tseth& t) {
  out["tx_timestamp"] = t.tx_timestamp.get();
  out["tsr"] = (t.tsr_ftype & wire::kTsr) != 0;
  out["ftype"] = t.tsr_ftype & wire::kFtypeMask;
}

/// METH to ImmDt, as far as a trim left them.
void put_write_headers(Json& out, const DecodedPacket& p) {
  std::size_t offset = p.frame.body_offset;
  const std::size_t end = std::min<std::size_t>(p.frame.body_end, p.bytes.size());
  const auto next = [&](std::size_t n) {
    if (offset + n > end) return false;
    offset += n;
    return true;
  };
  if (!next(sizeof(wire::Meth))) return;
  const auto meth = wire::load_header<wire::Meth>(at(p, offset - sizeof(wire::Meth)));
  out["meth"] = {{"rqmsn", meth.rqmsn.get()}, {"msn", meth.msn.get()}};
  if (p.frame.bth.ts) {
    if (!next(sizeof(wire::Tseth))) return;
    put_timestamp(out["tseth"], wire::load_header<wire::Tseth>(at(p, offset - sizeof(wire::Tseth))));
  }
  if (!next(sizeof(wire::Reth))) return;
  const auto reth = wire::load_header<wire::Reth>(at(p, offset - sizeof(wire::Reth)));
  out["reth"] = {{"va", hex64(reth.va)}, {"rkey", reth.rkey.get()}, {"dmalen", reth.dmalen.get()}};
  if (has_immediate(p.frame.bth.opcode) && next(4)) out["immdt"] = wire::load_be32(at(p, offset - 4));
}

void put(Json& out, const wire::SackView& s) {
  Json& h = out["seth"];
  h = {{"m", static_cast<int>(s.m)}, {"pr", s.pr}, {"ack_psn_offset", s.ack_psn_offset}};
  if (s.pr) h["probe_id"] = s.probe_id();
  h["entropy"] = s.entropy;
  h["spdcid"] = s.spdcid;
  h["dpdcid"] = s.dpdcid;
  h["cack_psn"] = s.cack_psn.value();
  h["cc_type"] = s.cc_type;
  h["cc_fl"] = s.cc_fl;
  h["mpr"] = s.mpr;
  h["sack_offset"] = s.sack_offset;
  h["sack_bitmap"] = hex64(s.sack_bitmap);
  out["cc_state"] = {{"tx_timestamp", s.tx_timestamp.value()},
                     {"ooo_count", s.ooo_count},
                     {"restore_cwnd", s.restore_cwnd},
                     {"rcv_cwnd_pen", s.rcv_cwnd_pen},
                     {"rcvd_bytes", s.rcvd_bytes.value()}};
}
void put(Json& out, const wire::NackView& n) {
  out["neth"] = {{"nack_reason", static_cast<int>(n.reason)},
                 {"vendor_info", n.vendor_info},
                 {"entropy", n.entropy},
                 {"spdcid", n.spdcid},
                 {"dpdcid", n.dpdcid},
                 {"nack_psn", n.nack_psn.value()},
                 {"cc_type", n.cc_type},
                 {"cc_fl", n.cc_fl},
                 {"tx_timestamp", n.tx_timestamp.value()}};
}
void put(Json& out, const wire::AckView& a) {
  out["aeth"] = {{"syndrome", a.syndrome}, {"msn", a.msn}};
}
void put(Json& out, const wire::ProbeView& v, const wire::Peth& h) {
  out["peth"] = {
      {"vendor_info", v.vendor_info}, {"probe_id", v.probe_id}, {"spdcid", v.spdcid}, {"dpdcid", v.dpdcid}};
  put_timestamp(out["peth"], h.timestamp);
}
void put(Json& out, const wire::EndpointRequestView& v, const wire::Erth& h) {
  out["erth"] = {{"op", static_cast<int>(v.op)},
                 {"vendor_info", v.vendor_info},
                 {"port_status_mask", v.port_status_mask}};
  put_timestamp(out["erth"], h.timestamp);
}
void put(Json& out, const wire::EndpointResponseView& v) {
  out["eeth"] = {{"op", static_cast<int>(v.op)}, {"tx_timestamp", v.tx_timestamp.value()}};
}

void put_body(Json& out, const DecodedPacket& p) {
  const std::uint8_t* body = at(p, p.frame.body_offset);
  if (is_write(p.frame.bth.opcode)) {
    put_write_headers(out, p);
  } else if (const auto* s = std::get_if<wire::SackView>(&p.view)) {
    put(out, *s);
  } else if (const auto* n = std::get_if<wire::NackView>(&p.view)) {
    put(out, *n);
  } else if (const auto* a = std::get_if<wire::AckView>(&p.view)) {
    put(out, *a);
  } else if (const auto* v = std::get_if<wire::ProbeView>(&p.view)) {
    put(out, *v, wire::load_header<wire::Peth>(body));
  } else if (const auto* q = std::get_if<wire::EndpointRequestView>(&p.view)) {
    put(out, *q, wire::load_header<wire::Erth>(body));
  } else if (const auto* r = std::get_if<wire::EndpointResponseView>(&p.view)) {
    put(out, *r);
  }
}

}  // namespace

std::string ip_text(std::span<const std::uint8_t> address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text, sizeof text);
  return text;
}
std::string mac_text(std::span<const std::uint8_t> a) {
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", a[0], a[1], a[2], a[3], a[4], a[5]);
}

Json to_json(const DecodedPacket& p) {
  Json out = Json::object();
  const FrameView& f = p.frame;
  // Everything in front of the first error is shown, too.
  if (p.start == PacketStart::kEthernet && has(p, 0, 14U + 4U * f.vlan_tags)) out["eth"] = eth_json(p);
  if (f.encapsulated && f.ip_offset != 0) out["srv6"] = srv6_json(p);
  if (f.udp_offset != 0) {
    out["ip"] = ip_json(p, f.ip_offset);
    out["udp"] = {{"sport", f.udp_sport}, {"dport", f.udp_dport}, {"length", f.udp_length}};
    out["entropy"] = f.entropy;
  }
  if (f.body_offset != 0) {
    out["opcode"] = at(p, f.bth_offset)[0];
    out["op"] = opcode_name(static_cast<wire::Opcode>(at(p, f.bth_offset)[0]));
    out["bth"] = bth_json(p);
    if (p.reason == wire::DropReason::kNone || p.reason == wire::DropReason::kIcrc) {
      put_body(out, p);
      out["trimmed"] = f.trim != wire::Trim::kNone;
      if (f.trim == wire::Trim::kTrimmedLasthop) out["trimmed_lasthop"] = true;
      if (f.ce) out["ce"] = true;
      out["payload_len"] = payload_bytes(p);
    }
  }
  if (p.icrc) out["icrc"] = {{"ok", p.icrc->ok()}, {"got", p.icrc->got}, {"want", p.icrc->want}};
  if (p.snapped) out["snapped"] = true;
  if (p.verdict != Verdict::kFine) {
    out["error"] = p.error;
    out["error_byte"] = p.error_byte;
    out["reason"] = to_name(p.reason);
  }
  return out;
}

}  // namespace mrc::report
