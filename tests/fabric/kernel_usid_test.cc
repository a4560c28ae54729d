// SPDX-License-Identifier: BSD-3-Clause
// Our switch beside the Linux kernel's seg6local (End and End.X, NEXT-C-SID): the same packets, the same
// address and hop limit afterwards, the same packets dropped. In a network namespace of its own that ends
// with the process. Exit code 77: this machine cannot (not root, no namespaces, kernel or iproute2 without
// NEXT-C-SID).
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "fabric/switch.h"
#include "fabric/usid.h"

namespace mrc::fabric {
namespace {

constexpr std::uint32_t kLocator = 0xFCBBBBBB;
constexpr std::uint16_t kNode = 0x0001;
constexpr std::uint16_t kAdjacency = 0xE001;
constexpr std::uint8_t kHopLimit = 50;
constexpr int kTimeoutMs = 2000;
constexpr int kSilenceMs = 60;

[[noreturn]] void skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  std::exit(77);
}

/// Router between two cables; the far ends s0 and d0 have no IP of their own, so nothing but our packets
/// moves.
void make_router() {
  if (geteuid() != 0) skip("needs root");
  if (unshare(CLONE_NEWNET) != 0) skip("no network namespaces");
  const std::vector<std::string> commands = {
      "ip link add r0 type veth peer name s0",
      "ip link add r1 type veth peer name d0",
      "sysctl -qw net.ipv6.conf.s0.disable_ipv6=1 net.ipv6.conf.d0.disable_ipv6=1",
      "sysctl -qw net.ipv6.conf.all.forwarding=1 net.ipv6.conf.r0.seg6_enabled=1 "
      "net.ipv6.conf.all.seg6_enabled=1",
      "sysctl -qw net.ipv6.conf.r0.router_solicitations=0 net.ipv6.conf.r1.router_solicitations=0",
      "for i in lo r0 s0 r1 d0; do ip link set $i up; done",
      "ip link set r0 address 02:00:00:00:00:01",
      "ip -6 addr add fd77::1/64 dev r1 nodad",
      "ip -6 neigh add fd77::99 lladdr 02:00:00:00:00:99 dev r1",
      "ip -6 route add fcbb:bbbb::/32 via fd77::99 dev r1",
      "ip -6 route add fcbb:bbbb:1::/48 encap seg6local action End flavors next-csid lblen 32 nflen 16 dev "
      "r0",
      "ip -6 route add fcbb:bbbb:e001::/48 encap seg6local action End.X nh6 fd77::99 flavors next-csid lblen "
      "32 "
      "nflen 16 dev r1",
  };
  for (const std::string& c : commands) {
    if (std::system((c + " 2>/dev/null").c_str()) != 0) skip("this does not work here: " + c);
  }
}

int open_link(const char* device, int protocol) {
  const int fd = socket(AF_PACKET, SOCK_RAW, htons(static_cast<std::uint16_t>(protocol)));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(static_cast<std::uint16_t>(protocol));
  at.sll_ifindex = static_cast<int>(if_nametoindex(device));
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) skip("no packet sockets");
  return fd;
}

void put_address(std::uint8_t* at, Address a) {
  for (int i = 0; i < 8; ++i) {
    at[i] = static_cast<std::uint8_t>(a.hi >> (56 - 8 * i));
    at[8 + i] = static_cast<std::uint8_t>(a.lo >> (56 - 8 * i));
  }
}
Address get_address(const std::uint8_t* at) {
  Address a;
  for (int i = 0; i < 8; ++i) {
    a.hi = a.hi << 8 | at[i];
    a.lo = a.lo << 8 | at[8 + i];
  }
  return a;
}

void put_ipv6(std::uint8_t* h, std::uint16_t payload, std::uint8_t next, Address to) {
  std::memset(h, 0, 40);
  h[0] = 0x60;
  h[4] = static_cast<std::uint8_t>(payload >> 8);
  h[5] = static_cast<std::uint8_t>(payload);
  h[6] = next;
  h[7] = kHopLimit;
  put_address(h + 8, {0xfd00000000000000ULL, 1});
  put_address(h + 24, to);
}

/// Ethernet, outer IPv6 with the carrier, an SRH when `segment` is given, an inner IPv6 header without
/// payload; a tag in the inner flow label tells packets apart.
std::vector<std::uint8_t> make_frame(const Packet& p, std::uint32_t tag) {
  const bool srh = p.segments_left != 0;
  const std::uint16_t payload = static_cast<std::uint16_t>(40 + (srh ? 24 : 0));
  std::vector<std::uint8_t> f(14U + 40U + payload);
  const std::uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
  std::memcpy(f.data(), macs, 12);
  f[12] = 0x86;
  f[13] = 0xDD;
  put_ipv6(&f[14], payload, srh ? 43 : 41, p.usid);
  std::uint8_t* inner = &f[54];
  if (srh) {
    const std::uint8_t head[8] = {41, 2, 4, 1, 0, 0, 0, 0};  // type 4, one segment left, last entry 0
    std::memcpy(inner, head, 8);
    put_address(inner + 8, p.segment);
    inner += 24;
  }
  put_ipv6(inner, 0, 59, {0xfd00000000000000ULL, 2});
  inner[1] = static_cast<std::uint8_t>(tag >> 16 & 0xF);
  inner[2] = static_cast<std::uint8_t>(tag >> 8);
  inner[3] = static_cast<std::uint8_t>(tag);
  return f;
}

struct Seen {
  Address destination;
  std::uint8_t hop_limit = 0;
  std::uint8_t segments_left = 0;
};

/// What came out for this tag, or nothing within the time.
std::optional<Seen> receive(int fd, std::uint32_t tag, int timeout_ms) {
  std::array<std::uint8_t, 2048> f;
  pollfd wait{fd, POLLIN, 0};
  while (poll(&wait, 1, timeout_ms) == 1) {
    const ssize_t n = recv(fd, f.data(), f.size(), 0);
    if (n < 14 + 80 || f[12] != 0x86 || f[13] != 0xDD) continue;
    const bool srh = f[14 + 6] == 43;
    if (!srh && f[14 + 6] != 41) continue;
    const std::uint8_t* inner = &f[54U + (srh ? 24U : 0U)];
    const std::uint32_t got = (inner[1] & 0xFU) << 16 | inner[2] * 256U | inner[3];
    if (got != tag) continue;
    return Seen{get_address(&f[14 + 24]), f[14 + 7], srh ? f[54 + 3] : std::uint8_t{0}};
  }
  return std::nullopt;
}

Packet random_packet(Rng& rng) {
  std::array<std::uint16_t, 6> ids{};
  const std::uint64_t used = rng.between(1, 6);
  for (std::uint64_t i = 0; i < used; ++i) {
    ids[i] = rng.chance(0.1) ? 0 : static_cast<std::uint16_t>(rng.between(2, 0xDFFF));
    if (rng.chance(0.15)) ids[i] = kNode;
  }
  ids[0] = rng.chance(0.3) ? kAdjacency : kNode;
  Packet p;
  p.srv6 = true;
  p.usid = make_carrier(kLocator, ids);
  // Adjacencies and SRHs apart: without a list to shift the kernel's End.X leaves by its next hop, ours
  // likewise.
  if (ids[0] == kNode && rng.chance(0.3)) {
    const std::uint16_t next[] = {static_cast<std::uint16_t>(rng.between(2, 0xDFFF)), 7};
    p.segment = make_carrier(kLocator, next);
    p.segments_left = 1;
  }
  return p;
}

/// Our router: everything in the locator but its own uSIDs leaves by link 1.
Switch make_switch(const Packet& p) {
  SwitchSpec s;
  s.usid48 = prefix48(kLocator, kNode);
  s.usid_adjacencies.push_back({prefix48(kLocator, kAdjacency), {1}});
  for (Address a : {p.usid, p.segment}) {
    for (int i = 0; i < 7; ++i, a = shift_usid(a)) {
      if (active48(a) >> 16 == kLocator && active48(a) != s.usid48)
        s.usid_routes.push_back({active48(a), {1}});
    }
  }
  return Switch(s, 0);
}

int run() {
  make_router();
  const int in = open_link("s0", ETH_P_IPV6);
  const int out = open_link("d0", ETH_P_IPV6);
  Rng rng(20);
  int forwarded = 0;
  int dropped = 0;
  int by_srh = 0;
  for (std::uint32_t tag = 1; tag <= 400; ++tag) {
    Packet p = random_packet(rng);
    const std::vector<std::uint8_t> frame = make_frame(p, tag);
    const bool had_srh = p.segments_left != 0;
    const bool ours = make_switch(p).route(p, {}) != kNil;
    if (send(in, frame.data(), frame.size(), 0) < 0) skip("cannot send on a veth");
    const auto kernel = receive(out, tag, ours ? kTimeoutMs : kSilenceMs);
    const bool equal = kernel.has_value() == ours &&
                       (!ours || (kernel->destination == p.usid && kernel->hop_limit == kHopLimit - 1 &&
                                  kernel->segments_left == p.segments_left));
    if (!equal) {
      std::printf("packet %u: ours %s %016lx:%016lx, kernel %s %016lx:%016lx\n", tag,
                  ours ? "forwards" : "drops", p.usid.hi, p.usid.lo, kernel ? "forwards" : "drops",
                  kernel ? kernel->destination.hi : 0, kernel ? kernel->destination.lo : 0);
      return 1;
    }
    forwarded += ours ? 1 : 0;
    dropped += ours ? 0 : 1;
    by_srh += had_srh && ours && p.segments_left == 0 ? 1 : 0;
  }
  std::printf("%d forwarded (%d into the SRH's segment) and %d dropped, as the kernel does\n", forwarded,
              by_srh, dropped);
  return forwarded > 100 && dropped > 5 && by_srh > 5 ? 0 : 1;
}

}  // namespace
}  // namespace mrc::fabric

int main() {
  return mrc::fabric::run();
}
