// SPDX-License-Identifier: BSD-3-Clause
#include "qp_set.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/rng.h"
#include "config/denylist.h"
#include "plan.h"

namespace mrc::endpoint {

namespace {

/// All but what ties a QP to its worker.
nic::QpParams params_of(const config::EndpointConfig& config,
                        const std::shared_ptr<const path::EvTable>& evs) {
  nic::QpParams params;
  params.limits = config.qp.limits;
  params.limits.max_mpr = config.qp.attr.mpr;
  params.limits.max_mpr_dest = config.qp.attr.mpr_dest;
  params.limits.max_wimm_dest = config.qp.attr.max_wimm_dest;
  params.policy = config.qp.policy;
  params.policy.ev.ev_min_active =
      std::min<std::uint32_t>(params.policy.ev.ev_min_active, static_cast<std::uint32_t>(evs->size()));
  params.policy.ev.selector = config.paths.selector;
  params.policy.ev.active_evs =
      std::min<std::uint32_t>(config.paths.active, static_cast<std::uint32_t>(evs->size()));
  params.policy.ev.rtt_reroute = config.paths.rtt_reroute;
  params.evs = evs;
  return params;
}

}  // namespace

std::uint64_t QpSet::bytes_of_qp(const config::EndpointConfig& config,
                                 const std::shared_ptr<const path::EvTable>& evs) {
  return nic::Nic::qp_bytes(params_of(config, evs));
}

Result<Buffer> Buffer::create(std::uint64_t bytes) {
  Buffer b;
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    return Error{
        fmt::format("no memory for {} bytes of message buffers: {}; use a smaller size, depth or QP count",
                    bytes, std::strerror(errno))};
  }
  b.data_ = static_cast<unsigned char*>(p);
  b.size_ = bytes;
  return b;
}
Buffer::~Buffer() {
  if (data_ != nullptr) ::munmap(data_, size_);
}
Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Result<std::unique_ptr<QpSet>> QpSet::create(const config::EndpointConfig& config, nic::Nic& nic,
                                             std::vector<Lane>& lanes,
                                             std::shared_ptr<const path::EvTable> evs, const QpSetConfig& set,
                                             std::uint64_t seed) {
  assert(lanes.size() == nic.workers());
  std::unique_ptr<QpSet> qps(new QpSet(config, nic));
  qps->evs_ = std::move(evs);
  qps->region_bytes_ = set.region_bytes;
  if (Result<void> r = qps->take_memory(set); !r) return r.error();
  try {
    if (Result<void> r = qps->create_qps(lanes, set, seed); !r) return r.error();
  } catch (const std::bad_alloc&) {  // a limit on this process; what is free was looked at before
    return Error{
        fmt::format("no memory for {} QPs of {} KiB each; use fewer, or smaller limits (qp, ev.count)",
                    set.qps, bytes_of_qp(config, qps->evs_) >> 10)};
  }
  return qps;
}

Result<void> QpSet::take_memory(const QpSetConfig& set) {
  const std::uint64_t bytes = set.region_bytes * set.qps;
  const auto take = [&](Buffer& buffer, nic::MemoryKeys& keys, std::uint32_t access) -> Result<void> {
    Result<Buffer> b = Buffer::create(bytes);
    if (!b) return b.error();
    buffer = *std::move(b);
    Result<nic::MemoryKeys> k = nic_.register_memory(buffer.data(), bytes, access);
    if (!k) return k.error();
    keys = *k;
    return {};
  };
  if (set.sends) {
    if (Result<void> r = take(source_, source_keys_, nic::kAccessLocal); !r) return r;
  }
  if (set.receives) {
    if (Result<void> r = take(target_, target_keys_, nic::kAccessRemoteWrite); !r) return r;
  }
  return {};
}

Result<void> QpSet::create_qps(std::vector<Lane>& lanes, const QpSetConfig& set, std::uint64_t seed) {
  Rng rng(seed);
  // One controller a destination (MRC 8.1); QPs that share it live on one worker.
  std::vector<std::shared_ptr<cc::Qpcc>> controllers;
  for (Lane& lane : lanes) {
    Result<cc::Qpcc::Algorithm> algorithm =
        config::make_controller(config_, set.rate_bps, 1.0 / static_cast<double>(lanes.size()), set.now);
    if (!algorithm) return algorithm.error();
    controllers.push_back(std::make_shared<cc::Qpcc>(*std::move(algorithm), config_.cc.send_test));
    lane.clear();
  }
  const auto denied = config::denied_evs(config_.ev, *evs_);
  if (!denied) return denied.error();
  for (std::uint32_t i = 0; i < set.qps; ++i) {
    QpEnd end;
    end.worker = i % static_cast<unsigned>(lanes.size());
    end.first_psn = static_cast<std::uint32_t>(rng.below(1U << 24));
    nic::QpParams params = params_of(config_, evs_);
    params.cc = controllers[end.worker];
    params.app = lanes[end.worker].queue();
    Result<std::uint32_t> qpn = nic_.create_qp(end.worker, params);
    if (!qpn) return qpn.error();
    end.qpn = *qpn;
    for (const path::EvIndex ev : *denied) {
      if (Result<void> r = nic_.set_ev_state(end.qpn, ev, path::EvState::kDenied); !r) return r;
    }
    if (set.sends) end.source = source_.data() + i * set.region_bytes;
    if (set.receives) end.target = target_.data() + i * set.region_bytes;
    lanes[end.worker].add_qp(end.qpn);
    qps_.push_back(end);
  }
  return {};
}

QpSet::~QpSet() {
  // The Nic is told in order: no QP may read or write the memory that goes next.
  for (const QpEnd& q : qps_) static_cast<void>(nic_.destroy_qp(q.qpn));
  if (source_.data() != nullptr) static_cast<void>(nic_.deregister_memory(source_keys_));
  if (target_.data() != nullptr) static_cast<void>(nic_.deregister_memory(target_keys_));
}

Offer QpSet::describe() const {
  Offer o;
  o.mtu = config_.qp.attr.path_mtu;
  o.mtu_fixed = !config_.qp.mtu_auto;
  o.udp_port = nic_.config().udp_port;
  for (const std::uint16_t port : nic_.config().accept_udp_ports) o.accept_udp_ports.push_back(port);
  o.attributes = {config_.qp.attr.max_wimm_dest, config_.qp.attr.mpr_dest, config_.qp.attr.dynamic_mpr,
                  config_.qp.attr.trim_nack, false};
  for (unsigned w = 0; w < nic_.workers(); ++w) {
    std::vector<PlaneAddress>& planes = o.addresses.emplace_back();
    for (unsigned p = 0; p < nic_.config().planes.size(); ++p) {
      const nic::PeerPlane a = nic_.address(w, p);
      planes.push_back({a.ip, a.mac});
    }
  }
  for (const QpEnd& q : qps_) {
    const bool receives = q.target != nullptr;
    o.qps.push_back({q.qpn, q.first_psn, static_cast<std::uint8_t>(q.worker), target_keys_.rkey,
                     receives ? reinterpret_cast<std::uint64_t>(q.target) : 0, receives ? region_bytes_ : 0});
  }
  return o;
}

Result<void> QpSet::connect(const Offer& peer) {
  assert(peer.qps.size() == qps_.size());
  Result<std::uint16_t> mtu = agree_mtu(describe(), peer);
  if (!mtu) return mtu.error();
  transport::QpAttr attr = config_.qp.attr;
  attr.path_mtu = *mtu;
  const ResponderAttributes& theirs = peer.attributes;
  attr.mpr = std::min(attr.mpr, theirs.max_mpr_dest);  // D2
  attr.max_wimm = std::min(attr.max_wimm, theirs.max_wimm_dest);
  attr.dynamic_mpr = attr.dynamic_mpr && theirs.dynamic_mpr;  // only when both ends want it (T10-1)
  attr.trim_nack_dest = theirs.trim_nack;
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    QpEnd& q = qps_[i];
    const QpOffer& p = peer.qps[i];
    attr.dest_qpn = p.qpn;
    attr.sq_psn = Psn{q.first_psn};
    attr.rq_psn = Psn{p.first_psn};
    q.peer_rkey = p.rkey;
    q.peer_target_va = p.target_va;
    std::vector<nic::PeerPlane> planes;
    for (const PlaneAddress& a : peer.addresses[p.worker]) {
      const auto next_hop = MacAddress::parse(config_.planes[planes.size()].next_hop_mac);
      planes.push_back({a.ip, next_hop ? *next_hop : a.mac});
    }
    if (Result<void> r = nic_.connect_qp(q.qpn, attr, planes); !r) {
      return Error{fmt::format("QP {}: {}", i, r.error().message)};
    }
  }
  negotiated_ = attr;
  return {};
}

}  // namespace mrc::endpoint
