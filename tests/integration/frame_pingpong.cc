// SPDX-License-Identifier: BSD-3-Clause
// Raw frames between two processes over any DPDK port, checked byte by byte: `ping` sends, `pong` returns,
// `ping` compares. One JSON line at the end. Exit 0: everything held; 1: frames wrong or missing; 2: it did
// not start (one line why).
#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <vector>

#include "base/rng.h"
#include "ethdev/eal.h"
#include "ethdev/port.h"

namespace {

using mrc::ethdev::Port;

volatile std::sig_atomic_t stop_requested = 0;

struct Options {
  std::string role = "ping";
  std::string vdev;
  std::string pci;
  std::uint32_t mtu = 1500;
  int ip = 4;
  std::uint64_t count = 10000;  // ping: frames to return; 0: until --seconds
  double seconds = 10;          // ping: limit; pong: life
  std::uint32_t window = 32;    // frames in flight; of flood: frames a burst
  std::uint32_t link_ms = 5000;
  bool survive = false;  // the peer may die and come back; frames in flight are then lost
  std::uint32_t descs = 1024;
  bool print_eal = false;
  bool unguarded = false;  // memif as its driver is, to see the crash that the guard is for
};

struct Tally {
  std::uint64_t sent = 0, returned = 0, corrupt = 0, foreign = 0, link_downs = 0, given_up = 0;
};

constexpr std::uint16_t kBurst = 32;
constexpr std::uint16_t kPort = 4791;
constexpr std::uint32_t kMagic = 0x6d726366;

struct Stamp {  // starts the UDP payload
  std::uint32_t magic;
  std::uint32_t bytes;  // of the payload, stamp included
  std::uint64_t sequence;
};

std::uint32_t header_bytes(int ip) {
  return sizeof(rte_ether_hdr) + (ip == 4 ? sizeof(rte_ipv4_hdr) : sizeof(rte_ipv6_hdr)) +
         sizeof(rte_udp_hdr);
}

/// Sizes go round from the smallest to the MTU, so every run sees both ends.
std::uint32_t payload_bytes(const Options& o, std::uint64_t sequence) {
  const std::uint32_t low = sizeof(Stamp);
  const std::uint32_t high = o.mtu + std::uint32_t{sizeof(rte_ether_hdr)} - header_bytes(o.ip);
  switch (sequence % 4) {
    case 0:
      return low;
    case 1:
      return high;
    default:
      return low + static_cast<std::uint32_t>(mrc::mix64(sequence) % (high - low + 1));
  }
}

void fill_pattern(std::uint8_t* at, std::uint32_t bytes, std::uint64_t sequence) {
  for (std::uint32_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = mrc::mix64(sequence * 4096 + i);
    std::memcpy(at + i, &word, std::min<std::uint32_t>(8, bytes - i));
  }
}

void write_headers(std::uint8_t* frame, int ip, std::uint32_t payload) {
  rte_ether_hdr eth{};
  const std::uint8_t source[] = {2, 0, 0, 0, 0, 1};
  const std::uint8_t target[] = {2, 0, 0, 0, 0, 2};
  std::memcpy(eth.src_addr.addr_bytes, source, 6);
  std::memcpy(eth.dst_addr.addr_bytes, target, 6);
  eth.ether_type = rte_cpu_to_be_16(ip == 4 ? RTE_ETHER_TYPE_IPV4 : RTE_ETHER_TYPE_IPV6);
  std::memcpy(frame, &eth, sizeof(eth));
  std::uint8_t* at = frame + sizeof(eth);
  const auto udp_bytes = static_cast<std::uint16_t>(payload + sizeof(rte_udp_hdr));
  if (ip == 4) {
    rte_ipv4_hdr h{};
    h.version_ihl = 0x45;
    h.total_length = rte_cpu_to_be_16(static_cast<std::uint16_t>(udp_bytes + sizeof(h)));
    h.time_to_live = 64;
    h.next_proto_id = 17;
    h.src_addr = rte_cpu_to_be_32(0x0a4d0001);
    h.dst_addr = rte_cpu_to_be_32(0x0a4d0002);
    h.hdr_checksum = rte_ipv4_cksum(&h);
    std::memcpy(at, &h, sizeof(h));
    at += sizeof(h);
  } else {
    rte_ipv6_hdr h{};
    h.vtc_flow = rte_cpu_to_be_32(6U << 28);
    h.payload_len = rte_cpu_to_be_16(udp_bytes);
    h.proto = 17;
    h.hop_limits = 64;
    h.src_addr[0] = h.dst_addr[0] = 0xfd;
    h.src_addr[15] = 1;
    h.dst_addr[15] = 2;
    std::memcpy(at, &h, sizeof(h));
    at += sizeof(h);
  }
  rte_udp_hdr udp{};
  udp.src_port = udp.dst_port = rte_cpu_to_be_16(kPort);
  udp.dgram_len = rte_cpu_to_be_16(udp_bytes);
  std::memcpy(at, &udp, sizeof(udp));
}

rte_mbuf* make_frame(rte_mempool* pool, const Options& o, std::uint64_t sequence) {
  rte_mbuf* m = rte_pktmbuf_alloc(pool);
  if (m == nullptr) return nullptr;
  const std::uint32_t payload = payload_bytes(o, sequence);
  const std::uint32_t bytes = header_bytes(o.ip) + payload;
  auto* frame = reinterpret_cast<std::uint8_t*>(rte_pktmbuf_append(m, static_cast<std::uint16_t>(bytes)));
  write_headers(frame, o.ip, payload);
  const Stamp stamp{kMagic, payload, sequence};
  std::memcpy(frame + header_bytes(o.ip), &stamp, sizeof(stamp));
  fill_pattern(frame + header_bytes(o.ip) + sizeof(stamp), payload - std::uint32_t{sizeof(stamp)}, sequence);
  return m;
}

/// True if the frame is one of ours and every byte is as sent.
bool check_frame(rte_mbuf* m, const Options& o, Tally& tally) {
  std::vector<std::uint8_t> copy(rte_pktmbuf_pkt_len(m));
  const void* data = rte_pktmbuf_read(m, 0, rte_pktmbuf_pkt_len(m), copy.data());
  const auto* frame = static_cast<const std::uint8_t*>(data);
  Stamp stamp{};
  const std::uint32_t offset = header_bytes(o.ip);
  if (copy.size() < offset + sizeof(stamp)) return ++tally.foreign, false;
  std::memcpy(&stamp, frame + offset, sizeof(stamp));
  if (stamp.magic != kMagic) return ++tally.foreign, false;  // the kernel's own (IPv6 neighbour discovery)
  std::vector<std::uint8_t> want(stamp.bytes);
  fill_pattern(want.data() + sizeof(stamp), stamp.bytes - static_cast<std::uint32_t>(sizeof(stamp)),
               stamp.sequence);
  const bool ok = stamp.bytes == payload_bytes(o, stamp.sequence) && copy.size() >= offset + stamp.bytes &&
                  std::memcmp(frame + offset + sizeof(stamp), want.data() + sizeof(stamp),
                              stamp.bytes - sizeof(stamp)) == 0;
  if (!ok) ++tally.corrupt;
  return ok;
}

/// Follows the link; after a loss of the peer, frames in flight are written off.
class LinkWatch {
 public:
  explicit LinkWatch(Port& port) : port_(port) {}
  bool up(Tally& tally) {
    const std::uint64_t cycles = rte_get_timer_cycles();
    if (cycles < next_look_) return up_;
    next_look_ = cycles + rte_get_timer_hz() / 500;
    const bool now = port_.link().up;
    if (up_ && !now) ++tally.link_downs;
    return up_ = now;
  }

 private:
  Port& port_;
  std::uint64_t next_look_ = 0;
  bool up_ = true;
};

Tally run_ping(const Options& o, Port& port, rte_mempool* pool) {
  Tally tally;
  LinkWatch watch(port);
  const mrc::ethdev::BurstPort bursts{port.id(), port.burst_port().guarded && !o.unguarded};
  const std::uint64_t hz = rte_get_timer_hz();
  const std::uint64_t end =
      rte_get_timer_cycles() + static_cast<std::uint64_t>(o.seconds * static_cast<double>(hz));
  std::uint64_t last_return = rte_get_timer_cycles();
  std::vector<rte_mbuf*> pending;
  const auto in_flight = [&] { return tally.sent - tally.returned - tally.given_up; };
  while (stop_requested == 0 && (o.count == 0 || tally.returned < o.count)) {
    const std::uint64_t now = rte_get_timer_cycles();
    if (now > end) break;
    const bool up = watch.up(tally);
    // In survive mode the window opens again 20 ms after the last return: what was in flight died with the
    // peer.
    if (o.survive && in_flight() > 0 && (!up || now - last_return > hz / 50)) tally.given_up += in_flight();
    while (up && pending.size() < kBurst && in_flight() + pending.size() < o.window &&
           (o.count == 0 || tally.sent + pending.size() < o.count + tally.given_up)) {
      rte_mbuf* m = make_frame(pool, o, tally.sent + pending.size());
      if (m == nullptr) break;
      pending.push_back(m);
    }
    const std::uint16_t sent =
        mrc::ethdev::tx_burst(bursts, 0, pending.data(), static_cast<std::uint16_t>(pending.size()));
    tally.sent += sent;
    pending.erase(pending.begin(), pending.begin() + sent);
    rte_mbuf* in[kBurst];
    const std::uint16_t got = mrc::ethdev::rx_burst(bursts, 0, in, kBurst);
    for (std::uint16_t i = 0; i < got; ++i) {
      if (check_frame(in[i], o, tally) && tally.returned < tally.sent) ++tally.returned, last_return = now;
      rte_pktmbuf_free(in[i]);
    }
    if (got == 0) sched_yield();
  }
  rte_pktmbuf_free_bulk(pending.data(), static_cast<unsigned>(pending.size()));
  return tally;
}

/// Sends the same frames over and over, as fast as the port takes them, and checks a sample of what the peer
/// floods: the workers are inside a burst nearly all of the time, which is when a dying peer hurts.
Tally run_flood(const Options& o, Port& port, rte_mempool* pool) {
  Tally tally;
  LinkWatch watch(port);
  const mrc::ethdev::BurstPort bursts{port.id(), port.burst_port().guarded && !o.unguarded};
  std::vector<rte_mbuf*> frames;
  const auto burst = static_cast<std::uint16_t>(o.window);
  for (std::uint16_t i = 0; i < burst; ++i)
    frames.push_back(make_frame(pool, o, 4 * i + 1));  // all of the MTU's size
  const std::uint64_t end = rte_get_timer_cycles() +
                            static_cast<std::uint64_t>(o.seconds * static_cast<double>(rte_get_timer_hz()));
  std::uint64_t received = 0;
  std::vector<rte_mbuf*> in(burst);
  while (stop_requested == 0 && rte_get_timer_cycles() < end) {
    watch.up(tally);
    for (rte_mbuf* m : frames) rte_mbuf_refcnt_update(m, 1);
    const std::uint16_t sent = mrc::ethdev::tx_burst(bursts, 0, frames.data(), burst);
    for (std::uint16_t i = sent; i < burst; ++i) rte_mbuf_refcnt_update(frames[i], -1);
    tally.sent += sent;
    const std::uint16_t got = mrc::ethdev::rx_burst(bursts, 0, in.data(), burst);
    for (std::uint16_t i = 0; i < got; ++i) {
      if (received++ % 64 != 0 || check_frame(in[i], o, tally)) ++tally.returned;
      rte_pktmbuf_free(in[i]);
    }
    if (sent == 0 && got == 0) sched_yield();
  }
  rte_pktmbuf_free_bulk(frames.data(), burst);
  return tally;
}

Tally run_pong(const Options& o, Port& port) {
  Tally tally;
  LinkWatch watch(port);
  const mrc::ethdev::BurstPort bursts{port.id(), port.burst_port().guarded && !o.unguarded};
  const std::uint64_t end = rte_get_timer_cycles() +
                            static_cast<std::uint64_t>(o.seconds * static_cast<double>(rte_get_timer_hz()));
  std::vector<rte_mbuf*> pending;
  while (stop_requested == 0 && rte_get_timer_cycles() < end) {
    watch.up(tally);
    rte_mbuf* in[kBurst];
    const std::uint16_t got =
        pending.size() < 1024 ? mrc::ethdev::rx_burst(bursts, 0, in, kBurst) : std::uint16_t{0};
    for (std::uint16_t i = 0; i < got; ++i) {
      // Frames of the kernel are not echoed: they would be answered.
      const auto* eth = rte_pktmbuf_mtod(in[i], const rte_ether_hdr*);
      if (eth->src_addr.addr_bytes[0] != 2 || eth->src_addr.addr_bytes[5] != 1) {
        ++tally.foreign;
        rte_pktmbuf_free(in[i]);
        continue;
      }
      in[i]->ol_flags = 0;
      pending.push_back(in[i]);
    }
    const auto burst = static_cast<std::uint16_t>(std::min<std::size_t>(pending.size(), kBurst));
    const std::uint16_t sent = mrc::ethdev::tx_burst(bursts, 0, pending.data(), burst);
    tally.sent += sent;
    pending.erase(pending.begin(), pending.begin() + sent);
    if (got == 0) sched_yield();
  }
  rte_pktmbuf_free_bulk(pending.data(), static_cast<unsigned>(pending.size()));
  return tally;
}

int fail(const std::string& message) {
  std::cerr << "frame_pingpong: " << message << '\n';
  return 2;
}

void print_result(const Options& o, const Tally& t, Port& port, rte_mempool* pool) {
  const auto guard = mrc::ethdev::guard_stats(port.id());
  std::printf(
      "{\"role\":\"%s\",\"driver\":\"%s\",\"sent\":%lu,\"returned\":%lu,\"corrupt\":%lu,\"foreign\":%lu,"
      "\"link_downs\":%lu,"
      "\"given_up\":%lu,\"guard_faults\":%lu,\"guard_mbufs_lost\":%lu,\"mbufs_out\":%u}\n",
      o.role.c_str(), mrc::ethdev::driver_label(port.caps().driver), t.sent, t.returned, t.corrupt, t.foreign,
      t.link_downs, t.given_up, guard.faults, guard.tx_mbufs_lost, rte_mempool_in_use_count(pool));
  std::fflush(stdout);
}

int run(const Options& o, const std::vector<std::string>& eal_args) {
  mrc::ethdev::EalConfig config;
  config.program = "frame_pingpong";
  config.extra_args = eal_args;
  config.memory_mib = 192;
  if (!o.vdev.empty()) config.vdevs.push_back(o.vdev);
  if (!o.pci.empty()) config.pci_allow.push_back(o.pci);
  auto eal = mrc::ethdev::Eal::init(config);
  if (!eal) return fail(eal.error().message);
  if (o.print_eal) {
    std::cerr << eal->command_line() << '\n' << eal->start_output();
  }
  auto caps = mrc::ethdev::probe(0);
  if (!caps) return fail(caps.error().message);
  if (o.print_eal) std::cerr << caps->describe() << '\n';
  auto room = mrc::ethdev::rx_data_room(*caps, o.mtu);
  if (!room) return fail(room.error().message);
  const std::uint32_t mbufs = std::max<std::uint32_t>(6143, caps->min_rx_mbufs);
  auto pool = caps->packed_rx_pool ? mrc::ethdev::make_packed_pool("frames", mbufs, *room)
                                   : mrc::ethdev::make_pool("frames", mbufs, *room);
  if (!pool) return fail(pool.error().message);
  mrc::ethdev::PortConfig port_config;
  port_config.mtu_bytes = o.mtu;
  port_config.rx_pools = {*pool};
  port_config.rx_descs = port_config.tx_descs = static_cast<std::uint16_t>(o.descs);
  auto port = Port::open(0, port_config);
  if (!port) return fail(port.error().message);
  if (auto ok = port->start(); !ok) return fail(ok.error().message);
  std::printf("ready\n");
  std::fflush(stdout);
  if (auto ok = port->wait_link_up(std::chrono::milliseconds(o.link_ms)); !ok)
    return fail(ok.error().message);
  std::printf("up\n");
  std::fflush(stdout);
  const Tally tally = o.role == "ping"    ? run_ping(o, *port, *pool)
                      : o.role == "flood" ? run_flood(o, *port, *pool)
                                          : run_pong(o, *port);
  print_result(o, tally, *port, *pool);
  if (tally.corrupt != 0) return 1;
  if (o.role == "pong") return 0;
  if (o.role == "flood") return tally.sent > 0 && tally.returned > 0 ? 0 : 1;
  if (tally.returned == 0) return 1;
  return o.survive || tally.returned == o.count ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  CLI::App app{"Raw frames between two processes over a DPDK port, verified"};
  app.add_option("--role", o.role)->check(CLI::IsMember({"ping", "pong", "flood"}));
  app.add_option("--vdev", o.vdev);
  app.add_option("--pci", o.pci);
  app.add_option("--mtu", o.mtu)->check(CLI::Range(256, 9216));
  app.add_option("--ip", o.ip)->check(CLI::IsMember({4, 6}));
  app.add_option("--count", o.count);
  app.add_option("--seconds", o.seconds);
  app.add_option("--window", o.window)->check(CLI::Range(1, 512));
  app.add_option("--descs", o.descs);
  app.add_option("--link-ms", o.link_ms);
  app.add_flag("--survive", o.survive);
  app.add_flag("--print-eal", o.print_eal);
  app.add_flag("--unguarded", o.unguarded);
  std::vector<std::string> eal_args;
  int own = argc;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--") == 0) {
      own = i;
      eal_args.assign(argv + i + 1, argv + argc);
      break;
    }
  }
  CLI11_PARSE(app, own, argv);
  std::signal(SIGINT, [](int) { stop_requested = 1; });
  std::signal(SIGTERM, [](int) { stop_requested = 1; });
  return run(o, eal_args);
}
