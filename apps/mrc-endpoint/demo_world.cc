// SPDX-License-Identifier: BSD-3-Clause
#include "demo_world.h"

#include <algorithm>

#include "base/rng.h"
#include "config/ev_profile.h"

namespace mrc::endpoint {

namespace {

/// What NSCC takes a path for that has no limit: more than a core pumps.
constexpr double kUnlimitedPathGbps = 1;

/// Every plane its address, as the endpoint's configuration gives them; the MACs are the fabric's.
nic::NicConfig nic_config(const config::EndpointConfig& c, const virt::VirtualFabric& net, unsigned host) {
  nic::NicConfig n;
  n.seed = c.seed + host;
  n.max_pmtu = c.qp.attr.path_mtu;
  n.udp_port = c.net.udp_port;
  n.ev_order = c.ev.order;
  n.hop_limit = c.net.hop_limit;
  for (std::uint32_t plane = 0; plane < net.planes(); ++plane) {
    nic::PlanePort p;
    p.dpdk_port = net.port_id(host, plane);
    p.mac = net.mac(host, plane);
    p.ips = {*IpAddress::parse(c.planes[plane].ip)};
    n.planes.push_back(p);
  }
  return n;
}

}  // namespace

DemoWorld::DemoWorld(const DemoWorldConfig& config)
    : config_(config), source_(config.memory_bytes), target_(config.memory_bytes) {}

DemoWorld::~DemoWorld() {
  settle();
}

Result<std::unique_ptr<DemoWorld>> DemoWorld::create(const DemoWorldConfig& config) {
  std::unique_ptr<DemoWorld> world(new DemoWorld(config));
  if (auto r = world->open(); !r) return r.error();
  return world;
}

// A path with a rate has what a switch for MRC has: a queue that marks from its first quarter on and trims
// when it is full. It holds the burst that a thread sends after an absence.
virt::VirtualConfig DemoWorld::fabric_config() const {
  virt::VirtualConfig v;
  v.planes = config_.planes;
  v.paths = config_.paths;
  v.path.delay = config_.delay;
  v.forwarding.mode = fabric::Forwarding::kModulo;  // so that a path can be named by its source ports
  v.seed = config_.seed;
  v.path.rate_bps = static_cast<std::uint64_t>(config_.path_gbps * 1e9);
  if (v.path.rate_bps == 0) return v;
  const double rtt_s = static_cast<double>(config_.delay.ns) * 2e-9;
  const double bdp = static_cast<double>(v.path.rate_bps) / 8 * rtt_s;
  const auto queue = static_cast<std::uint32_t>(std::max(bdp, 128.0 * 1024));
  v.path.data_queue_bytes = v.path.control_queue_bytes = queue;
  v.path.ecn = {.enabled = true, .min_bytes = queue / 4, .max_bytes = queue / 4 * 3};
  v.path.trim.enabled = true;
  return v;
}

Result<void> DemoWorld::open() {
  config::EndpointConfig c;
  c.seed = config_.seed;
  c.plane_count = config_.planes;
  auto net = virt::VirtualFabric::create(fabric_config());
  if (!net) return net.error();
  net_ = *std::move(net);
  // Both ends poll on one thread: the round trip is the distance and a few rounds of work.
  c.qp.policy.base_rtt = config_.delay * 2;
  c.qp.policy.ev.base_rtt = c.qp.policy.base_rtt;
  if (config_.timeout != 0) c.qp.attr.timeout = config_.timeout;
  if (config_.ev_order_only) {
    c.qp.policy.time_order = c.qp.policy.ev_flush = c.qp.policy.tail_probe = false;
    c.qp.policy.ev.plane_rule = false;
  }
  c.cc.mode = config_.cc;
  // The window covers what the fabric's distance holds; the MPR window is the other bound.
  c.cc.window_bytes = std::uint64_t{c.qp.attr.mpr} * kPsnsPerMprUnit * c.qp.attr.path_mtu;
  c.fabric.paths_per_plane = static_cast<std::uint16_t>(config_.paths);
  c.fabric.link_gbps = config_.path_gbps > 0 ? config_.path_gbps : kUnlimitedPathGbps;
  if (config_.line_gbps > 0) c.fabric.link_gbps = config_.line_gbps / (config_.planes * config_.paths);
  config::EndpointConfig of_host[2] = {c, c};
  config::fill_addresses(of_host[0], 2);
  config::fill_addresses(of_host[1], 1);
  auto evs = path::build_table(config::ev_profile_of(of_host[0], true, of_host[0].seed));
  if (!evs) return evs.error();
  evs_ = std::make_shared<const path::EvTable>(*std::move(evs));
  for (unsigned host = 0; host < 2; ++host) {
    if (auto r = open_nic(host, of_host[host]); !r) return r;
  }
  if (is_virtual()) poll();  // the workers learn which time it is before they have QPs to time
  return connect(of_host[0]);
}

Result<void> DemoWorld::open_nic(unsigned host, const config::EndpointConfig& c) {
  auto nic = nic::Nic::create(nic_config(c, *net_, host));
  if (!nic) return nic.error();
  nics_[host] = *std::move(nic);
  nic::QpParams params;
  params.limits = c.qp.limits;
  params.policy = c.qp.policy;
  params.evs = evs_;
  auto algorithm = config::make_controller(c, config::rate_of_planes(c, 0), 1, now());
  if (!algorithm) return algorithm.error();
  params.cc = std::make_shared<cc::Qpcc>(*std::move(algorithm), c.cc.send_test);
  auto qpn = nics_[host]->create_qp(0, params);
  if (!qpn) return qpn.error();
  qpns_[host] = *qpn;
  auto keys = host == 0 ? nics_[0]->register_memory(source_.data(), source_.size(), nic::kAccessLocal)
                        : nics_[1]->register_memory(target_.data(), target_.size(), nic::kAccessRemoteWrite);
  if (!keys) return keys.error();
  (host == 0 ? source_keys_ : target_keys_) = *keys;
  return {};
}

Result<void> DemoWorld::connect(const config::EndpointConfig& c) {
  Rng rng(config_.seed);
  const Psn first[2] = {Psn{static_cast<std::uint32_t>(rng.next())},
                        Psn{static_cast<std::uint32_t>(rng.next())}};
  for (unsigned host = 0; host < 2; ++host) {
    transport::QpAttr attr = c.qp.attr;
    attr.dest_qpn = qpns_[1 - host];
    attr.sq_psn = first[host];
    attr.rq_psn = first[1 - host];
    std::vector<nic::PeerPlane> peer;
    for (unsigned p = 0; p < config_.planes; ++p) peer.push_back(nics_[1 - host]->address(0, p));
    if (auto r = nics_[host]->connect_qp(qpns_[host], attr, peer); !r) return r;
  }
  return {};
}

void DemoWorld::poll_worker(unsigned host) {
  if (is_virtual()) {
    worker(host).poll_at(virtual_now_);
  } else {
    worker(host).poll();
  }
}

void DemoWorld::poll() {
  virtual_now_ = virtual_now_ + config_.poll_step;
  for (unsigned host = 0; host < 2; ++host) {
    poll_worker(host);
    net_->poll(now());
  }
}

std::vector<path::EvIndex> DemoWorld::evs_on(std::uint32_t plane, std::uint32_t path) const {
  std::vector<path::EvIndex> found;
  for (std::size_t i = 0; i < evs_->size(); ++i) {
    const auto ev = static_cast<path::EvIndex>(i);
    if ((*evs_)[i].port == plane && path_of(ev) == path) found.push_back(ev);
  }
  return found;
}

bool DemoWorld::settle() {
  if (net_ == nullptr) return false;  // set up to nowhere
  bool balanced = true;
  for (auto& nic : nics_) {
    if (nic != nullptr) nic->drain();
  }
  net_->drain();
  for (auto& nic : nics_) balanced = nic != nullptr && nic->mbuf_account().balanced() && balanced;
  return balanced && net_->fabric().conserves() && net_->fabric().in_flight() == 0;
}

}  // namespace mrc::endpoint
