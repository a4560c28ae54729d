// SPDX-License-Identifier: BSD-3-Clause
// Control calls that tell a queue pair who its peer is and move it through its states. Checks and templates
// are made by the caller; its worker only takes them over.
#include <algorithm>
#include <string>

#include "nic/control.h"

namespace mrc::nic {
namespace {

wire::Encap encap_of(path::EvFormat f) {
  switch (f) {
    case path::EvFormat::kSrv6:
      return wire::Encap::kSrv6;
    case path::EvFormat::kSrv6Srh:
      return wire::Encap::kSrv6Srh;
    default:
      return wire::Encap::kNone;
  }
}

Result<std::vector<wire::HeaderTemplate>> make_templates(const WorkerCore& w, path::EvFormat format,
                                                         std::span<const PeerPlane> peer) {
  const NicConfig& c = w.nic.config;
  std::vector<wire::HeaderTemplate> out;
  for (std::size_t p = 0; p < c.planes.size(); ++p) {
    const PlanePort& ours = c.planes[p];
    const IpAddress& ip = ours.ips[ours.ips.size() == 1 ? 0 : w.index];
    const std::string who = "peer address of plane " + std::to_string(p);
    if (peer[p].ip.v6 != ip.v6) {
      return Error{who + ": " + peer[p].ip.to_string() + " against our " + ip.to_string() +
                   "; both must be IPv4 or both IPv6"};
    }
    if (peer[p].ip.is_zero()) return Error{who + " is all zero"};
    if (peer[p].mac.is_zero()) {
      return Error{who + ": no MAC of the next hop; exchange the peer's or configure the router's"};
    }
    wire::PathAddress a;
    a.src_mac = ours.mac;
    a.dst_mac = peer[p].mac;
    a.vlans = ours.vlans;
    a.vlan_tags = ours.vlan_tags;
    a.src_ip = a.outer_src_ip = ip;
    a.dst_ip = peer[p].ip;
    a.encap = encap_of(format);
    a.hop_limit = c.hop_limit;
    a.udp_dport = c.udp_port;
    a.pkey = c.pkey;
    auto t = wire::HeaderTemplate::create(a);
    if (!t) return Error{who + ": " + t.error().message};
    out.push_back(*t);
  }
  return out;
}

Result<void> check_pmtu(const NicConfig& c, const std::vector<wire::HeaderTemplate>& templates,
                        std::uint16_t pmtu) {
  if (pmtu > c.max_pmtu) {
    return Error{"path_mtu: " + std::to_string(pmtu) + " bytes, this NIC was made for at most " +
                 std::to_string(c.max_pmtu) + "; raise max_pmtu"};
  }
  for (std::size_t p = 0; p < templates.size(); ++p) {
    const std::uint32_t frame =
        templates[p].prefix_bytes() + wire::kMaxWriteHeaderBytes + pmtu + wire::kIcrcBytes;
    if (c.planes[p].max_frame_bytes != 0 && frame > c.planes[p].max_frame_bytes) {
      return Error{"path_mtu: " + std::to_string(pmtu) + " bytes make frames of " + std::to_string(frame) +
                   ", port " + std::to_string(c.planes[p].dpdk_port) + " (plane " + std::to_string(p) +
                   ") passes at most " + std::to_string(c.planes[p].max_frame_bytes) +
                   "; lower path_mtu or raise the port's MTU"};
    }
  }
  return {};
}

/// What kAttrAv tells, ready to be taken over.
struct NewAddress {
  std::vector<wire::HeaderTemplate> templates;
  NewPeer peer;
};

Result<NewAddress> make_address(const WorkerCore& w, const QpHome& home, std::span<const PeerPlane> peer) {
  const std::size_t planes = w.nic.config.planes.size();
  if (peer.size() < planes) {
    return Error{"QP address: " + std::to_string(peer.size()) + " peer planes for " + std::to_string(planes) +
                 " of ours; give one a plane"};
  }
  auto made = make_templates(w, home.evs->format(), peer);
  if (!made) return made.error();
  NewAddress a;
  a.templates = *std::move(made);
  PeerIps ips{};
  for (std::size_t p = 0; p < planes; ++p) ips[p] = peer[p].ip;
  a.peer = make_peer(ips, planes);
  return a;
}

/// As the worker's owner.
Result<void> modify(WorkerCore& w, QpHome& home, transport::QpState to, const transport::QpAttr& attr,
                    std::uint32_t mask, NewAddress& address) {
  if (auto r = home.qp.modify(to, attr, mask, time_of(w)); !r) return r;
  if ((mask & transport::kAttrAv) != 0) {
    home.templates.swap(address.templates);
    meet_peer(w, home, address.peer);
  }
  if (to == transport::QpState::kReset) leave_peer(w, home, address.peer);
  home.dest_qpn = home.qp.attributes().dest_qpn;
  w.touch(home);
  return {};
}

}  // namespace

Result<void> Nic::modify_qp(std::uint32_t qpn, transport::QpState to, const transport::QpAttr& attr,
                            std::uint32_t mask, std::span<const PeerPlane> peer) {
  WorkerCore* w = owner_of(*core_, qpn);
  QpHome* home = home_of(w, qpn);
  if (home == nullptr) return no_qp(qpn);
  NewAddress address;
  if ((mask & transport::kAttrAv) != 0) {
    Result<NewAddress> made = make_address(*w, *home, peer);
    if (!made) return made.error();
    address = *std::move(made);
  }
  const auto& templates = (mask & transport::kAttrAv) != 0 ? address.templates : home->templates;
  if (to >= transport::QpState::kRtr && to <= transport::QpState::kRts && templates.empty())
    return Error{"QP " + std::to_string(qpn) + ": no peer address; pass kAttrAv with one address a plane"};
  if ((mask & transport::kAttrPathMtu) != 0) {
    if (auto r = check_pmtu(core_->config, templates, attr.path_mtu); !r) return r;
  }
  Result<void> result;
  on_worker(*w, [&] { result = modify(*w, *home, to, attr, mask, address); });
  return result;
}

Result<void> Nic::connect_qp(std::uint32_t qpn, const transport::QpAttr& attr,
                             std::span<const PeerPlane> peer) {
  using namespace transport;
  struct Step {
    QpState to;
    std::uint32_t mask;
  };
  static constexpr Step kSteps[] = {
      {QpState::kInit, kAttrHint | kAttrEvProfileId | kAttrCcProfileId},
      {QpState::kRtr,
       kAttrMaxWimmDest | kAttrMprDest | kAttrCap | kAttrAv | kAttrPathMtu | kAttrDestQpn | kAttrRqPsn},
      {QpState::kRts, kAttrMaxWimm | kAttrMpr | kAttrRetryCnt | kAttrTimeout | kAttrSqPsn},
  };
  for (const Step& step : kSteps) {
    if (auto r = modify_qp(qpn, step.to, attr, step.mask, peer); !r) return r;
  }
  return {};
}

}  // namespace mrc::nic
