// SPDX-License-Identifier: BSD-3-Clause
#include "codec.h"

#include <algorithm>

#include "violation.h"
#include "wire/encode.h"
#include "wire/icrc.h"

namespace mrc::property {
namespace {

constexpr std::size_t kIpOffset = 14;
constexpr std::size_t kPayloadAt = 256;  // headers grow downwards from here

template <class View>
View read(wire::DropReason (*decode)(std::span<const std::uint8_t>, const wire::FrameView&, View&),
          const std::vector<std::uint8_t>& frame, const wire::FrameView& f) {
  View view;
  const wire::DropReason why = decode(frame, f, view);
  if (why != wire::DropReason::kNone) violate("wire", "a sound packet was refused: ", wire::to_name(why));
  return view;
}

Packet::View read_view(const std::vector<std::uint8_t>& frame, const wire::FrameView& f) {
  switch (f.bth.opcode) {
    case wire::Opcode::kSack:
      return read<wire::SackView>(wire::decode_sack, frame, f);
    case wire::Opcode::kNack:
      return read<wire::NackView>(wire::decode_nack, frame, f);
    case wire::Opcode::kAck:
      return read<wire::AckView>(wire::decode_ack, frame, f);
    case wire::Opcode::kProbe:
      return read<wire::ProbeView>(wire::decode_probe, frame, f);
    case wire::Opcode::kEndpointRequest:
      return read<wire::EndpointRequestView>(wire::decode_endpoint_request, frame, f);
    case wire::Opcode::kEndpointResponse:
      return read<wire::EndpointResponseView>(wire::decode_endpoint_response, frame, f);
    default:
      return read<wire::WriteView>(wire::decode_write, frame, f);
  }
}

std::uint32_t write_headers(const wire::HeaderTemplate& path, const wire::SendMeta& meta,
                            const Packet::View& view, std::uint8_t* end) {
  if (const auto* w = std::get_if<wire::WriteView>(&view)) return wire::encode_write(path, meta, *w, end);
  if (const auto* s = std::get_if<wire::SackView>(&view)) return wire::encode_sack(path, meta, *s, end);
  if (const auto* n = std::get_if<wire::NackView>(&view)) return wire::encode_nack(path, meta, *n, end);
  if (const auto* a = std::get_if<wire::AckView>(&view)) return wire::encode_ack(path, meta, *a, end);
  if (const auto* p = std::get_if<wire::ProbeView>(&view)) return wire::encode_probe(path, meta, *p, end);
  if (const auto* q = std::get_if<wire::EndpointRequestView>(&view))
    return wire::encode_endpoint_request(path, meta, *q, end);
  return wire::encode_endpoint_response(path, meta, std::get<wire::EndpointResponseView>(view), end);
}

bool same_view(const Packet::View& a, const Packet::View& b) {
  return std::visit(
      [&b](const auto& view) {
        using View = std::decay_t<decltype(view)>;
        if constexpr (std::is_same_v<View, wire::TrimmedView>) {
          return false;  // is made by switches, never encoded
        } else {
          const auto* other = std::get_if<View>(&b);
          return other != nullptr && view == *other;
        }
      },
      a);
}

}  // namespace

Codec::Codec() {
  wire::PathAddress address;
  address.src_ip.bytes = {10, 0, 0, 1};
  address.dst_ip.bytes = {10, 0, 0, 2};
  auto path = wire::HeaderTemplate::create(address);
  if (!path) violate("wire", path.error().message);
  path_ = *path;
}

void Codec::encode(Packet& p, std::uint32_t dqp, const path::EvEntry& ev) const {
  std::vector<std::uint8_t> buffer(kPayloadAt + p.payload.size() + 8);
  std::copy(p.payload.begin(), p.payload.end(), buffer.begin() + kPayloadAt);
  const wire::SendMeta meta{
      .dqp = dqp, .tos = wire::DscpMap().tos(p.dscp), .ev = {.udp_sport = ev.udp_sport, .flow_label = 0}};
  std::uint8_t* const payload = buffer.data() + kPayloadAt;
  const std::uint32_t headers = write_headers(path_, meta, p.view, payload);
  const std::uint32_t trailer =
      wire::seal(path_, payload, headers, static_cast<std::uint32_t>(p.payload.size()));
  const auto begin = buffer.begin() + static_cast<std::ptrdiff_t>(kPayloadAt - headers);
  p.bytes.assign(begin, begin + static_cast<std::ptrdiff_t>(headers + p.payload.size() + trailer));
}

bool Codec::decode(Packet& p) const {
  wire::FrameView f;
  const wire::DropReason why = wire::decode_frame(p.bytes, wire::DecodeOptions{}, f);
  const bool sound = why == wire::DropReason::kNone && f.has_icrc && wire::check_icrc(p.bytes, f).ok();
  if (p.corrupted && sound) violate("wire", "a frame with flipped bits was accepted");
  if (p.corrupted) return false;
  if (!sound) violate("wire", "a sound frame was refused: ", wire::to_name(why), ", or its ICRC");

  const Packet::View sent = p.view;
  p.view = read_view(p.bytes, f);
  if (!same_view(p.view, sent))
    violate("wire", "a packet of opcode ", static_cast<int>(f.bth.opcode), " reads differently");
  if (f.entropy != p.meta.entropy)
    violate("wire", "entropy reads ", f.entropy, ", sent was ", p.meta.entropy);
  p.meta.ce = f.ce;
  if (const auto* w = std::get_if<wire::WriteView>(&p.view)) {
    const auto begin = p.bytes.begin() + f.bth_offset + wire::write_header_bytes(f.bth.opcode, f.bth.ts);
    p.payload.assign(begin, begin + w->payload_bytes);
  }
  return true;
}

void Codec::mark_ce(std::vector<std::uint8_t>& frame) {
  std::uint8_t* const ip = frame.data() + kIpOffset;
  ip[1] = static_cast<std::uint8_t>(ip[1] | 3);
  ip[10] = ip[11] = 0;
  std::uint32_t sum = 0;
  for (int i = 0; i < 20; i += 2) sum += static_cast<std::uint32_t>(ip[i] << 8 | ip[i + 1]);
  while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
  ip[10] = static_cast<std::uint8_t>(~sum >> 8);
  ip[11] = static_cast<std::uint8_t>(~sum);
}

}  // namespace mrc::property
