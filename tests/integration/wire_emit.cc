// SPDX-License-Identifier: BSD-3-Clause
// Test tool: encodes random packets of every opcode and wrapping with lib/wire into a pcapng, and says on
// standard output what it meant, one JSON object a packet. wire_scapy_test.py reads both with scapy.
//   wire_emit FILE.pcapng COUNT SEED
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "report/capture_writer.h"
#include "wire_testing.h"

namespace {

using namespace mrc::wire;
using Json = nlohmann::ordered_json;

struct Emitted {
  testing::Bytes frame;
  Json meant;
};

void write_payload(mrc::Rng& rng, testing::Buffer& b, std::uint32_t n) {
  for (std::uint32_t i = 0; i < n; ++i) b.payload()[i] = testing::u8(rng);
}

Json meant(const WriteView& w, const testing::Buffer& b_const) {
  testing::Buffer& b = const_cast<testing::Buffer&>(b_const);  // payload() is not const
  Json j;
  j["bth"] = {{"opcode", static_cast<int>(w.bth.opcode)},
              {"se", w.bth.se},
              {"a", w.bth.a},
              {"rtx", w.bth.rtx},
              {"ts", w.bth.ts},
              {"psn", w.bth.psn.value()},
              {"pad", pad_bytes(w.payload_bytes)}};
  j["meth"] = {{"rqmsn", w.rqmsn.value()}, {"msn", w.msn.value()}};
  if (w.bth.ts) j["tseth"] = {{"tx_timestamp", w.tx_timestamp.value()}, {"tsr", w.tsr}, {"ftype", 1}};
  j["reth"] = {{"va", w.va}, {"rkey", w.rkey}, {"dmalen", w.dmalen}};
  if (has_immediate(w.bth.opcode)) j["immdt"] = {{"immdt", w.immdt}};
  j["payload"] = testing::to_hex({b.payload(), w.payload_bytes});
  return j;
}
Json meant(const SackView& s) {
  return {{"bth", {{"opcode", 0xDC}, {"rtx", s.rtx}, {"psn", s.cack_psn.value()}}},
          {"seth",
           {{"m", static_cast<int>(s.m)},
            {"pr", s.pr},
            {"ack_psn_offset", s.ack_psn_offset},
            {"entropy", s.entropy},
            {"spdcid", s.spdcid},
            {"dpdcid", s.dpdcid},
            {"cack_psn", s.cack_psn.value()},
            {"cc_type", s.cc_type},
            {"cc_fl", s.cc_fl},
            {"mpr", s.mpr},
            {"sack_offset", s.sack_offset},
            {"sack_bitmap", s.sack_bitmap}}},
          {"cc_state",
           {{"tx_timestamp", s.tx_timestamp.value()},
            {"ooo_count", s.ooo_count},
            {"restore_cwnd", s.restore_cwnd},
            {"rcv_cwnd_pen", s.rcv_cwnd_pen},
            {"rcvd_bytes", s.rcvd_bytes.value()}}}};
}
Json meant(const NackView& n) {
  return {{"bth", {{"opcode", 0xDD}, {"psn", n.nack_psn.value()}}},
          {"neth",
           {{"nack_reason", static_cast<int>(n.reason)},
            {"vendor_info", n.vendor_info},
            {"entropy", n.entropy},
            {"spdcid", n.spdcid},
            {"dpdcid", n.dpdcid},
            {"nack_psn", n.nack_psn.value()},
            {"cc_type", n.cc_type},
            {"cc_fl", n.cc_fl},
            {"tx_timestamp", n.tx_timestamp.value()}}}};
}
Json meant(const AckView& a) {
  return {{"bth", {{"opcode", 0xD1}, {"psn", a.psn.value()}}},
          {"aeth", {{"syndrome", a.syndrome}, {"msn", a.msn}}}};
}
Json meant(const ProbeView& p) {
  return {{"bth", {{"opcode", 0xDE}, {"psn", 0}}},
          {"peth",
           {{"vendor_info", p.vendor_info},
            {"probe_id", p.probe_id},
            {"spdcid", p.spdcid},
            {"dpdcid", p.dpdcid},
            {"tx_timestamp", p.tx_timestamp.value()},
            {"tsr", p.tsr},
            {"ftype", p.has_timestamp ? 1 : 0}}}};
}
Json meant(const EndpointRequestView& q) {
  return {{"bth", {{"opcode", 0xD8}, {"psn", q.request_id}, {"dqp", 2}}},
          {"erth",
           {{"op", static_cast<int>(q.op)},
            {"vendor_info", q.vendor_info},
            {"port_status_mask", q.port_status_mask},
            {"tx_timestamp", q.tx_timestamp.value()},
            {"tsr", q.tsr},
            {"ftype", q.has_timestamp ? 1 : 0}}}};
}
Json meant(const EndpointResponseView& r) {
  return {{"bth", {{"opcode", 0xD9}, {"psn", r.request_id}, {"dqp", 2}}},
          {"eeth", {{"op", static_cast<int>(r.op)}, {"tx_timestamp", r.tx_timestamp.value()}}}};
}

template <class View, class Encode>
Emitted control(const HeaderTemplate& path, const SendMeta& meta, const View& view, Encode encode) {
  testing::Buffer b;
  const std::uint32_t n = encode(path, meta, view, b.payload());
  return {b.frame(n, seal(path, b.payload(), n, 0)), meant(view)};
}

Emitted emit(mrc::Rng& rng, const HeaderTemplate& path, const SendMeta& meta, std::uint64_t kind) {
  switch (kind) {
    case 0:
      return control(path, meta, testing::random_sack(rng), encode_sack);
    case 1:
      return control(path, meta, testing::random_nack(rng), encode_nack);
    case 2:
      return control(path, meta, testing::random_ack(rng), encode_ack);
    case 3:
      return control(path, meta, testing::random_probe(rng), encode_probe);
    case 4:
      return control(path, meta, testing::random_endpoint_request(rng), encode_endpoint_request);
    case 5:
      return control(path, meta, testing::random_endpoint_response(rng), encode_endpoint_response);
    default:
      break;
  }
  WriteView w = testing::random_write(rng);
  w.bth.opcode = static_cast<Opcode>(0xC6 + kind - 6);
  if (!has_immediate(w.bth.opcode)) w.immdt = 0;
  w.payload_bytes %= 300;
  testing::Buffer b;
  write_payload(rng, b, w.payload_bytes);
  Json j = meant(w, b);
  const std::uint32_t n = encode_write(path, meta, w, b.payload());
  return {b.frame(n, w.payload_bytes + seal(path, b.payload(), n, w.payload_bytes)), std::move(j)};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: wire_emit FILE.pcapng COUNT SEED\n");
    return 2;
  }
  const mrc::report::CaptureInterface planes[] = {
      {"plane0", 1, 0}, {"plane1", 1, 0}, {"plane2", 1, 0}, {"plane3", 1, 0}};
  auto writer = mrc::report::CaptureWriter::create(argv[1], planes, "wire_emit");
  if (!writer) {
    std::fprintf(stderr, "%s\n", writer.error().message.c_str());
    return 2;
  }
  mrc::Rng rng(std::strtoull(argv[3], nullptr, 10));
  const auto shapes = testing::all_shapes();
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  constexpr std::uint64_t kKinds = 12;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto& shape = shapes[i / kKinds % shapes.size()];
    const HeaderTemplate path = testing::path_of(shape);
    const SendMeta meta = testing::random_meta(rng);
    Emitted e = emit(rng, path, meta, i % kKinds);
    e.meant["ipv6"] = shape.ipv6;
    e.meant["vlan_tags"] = shape.vlan_tags;
    e.meant["encap"] = static_cast<int>(shape.encap);
    e.meant["tos"] = meta.tos;
    e.meant["sport"] = meta.ev.udp_sport;
    e.meant["flow_label"] = shape.ipv6 ? meta.ev.flow_label : 0;
    if (!e.meant["bth"].contains("dqp")) e.meant["bth"]["dqp"] = meta.dqp;
    const auto direction = static_cast<mrc::report::Direction>(i % 3);
    const std::string comment = i % 5 == 0 ? "drop: icrc" : "";
    e.meant["comment"] = comment;
    e.meant["direction"] = i % 3;
    e.meant["plane"] = i % 4;
    e.meant["time_ns"] = 1'700'000'000'000'000'000 + i * 1001;
    writer->write(static_cast<std::uint32_t>(i % 4), 1'700'000'000'000'000'000 + i * 1001, direction, e.frame,
                  comment);
    std::printf("%s\n", e.meant.dump().c_str());
  }
  const auto closed = writer->close();
  if (!closed) std::fprintf(stderr, "%s\n", closed.error().message.c_str());
  return closed ? 0 : 2;
}
