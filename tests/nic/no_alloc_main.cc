// SPDX-License-Identifier: BSD-3-Clause
// A program of its own, because its malloc is: while armed, any allocation aborts with a word why. Moves data
// through every part of the path: posts, retransmission, WriteIMM, completions, timers.
#include <rte_eal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "two_nics.h"

namespace {

std::atomic<bool> armed{false};
std::atomic<unsigned long> calls{0};

void note() {
  ++calls;
  if (!armed) return;
  static const char kWord[] = "no_alloc: malloc on the datapath\n";
  (void)!write(2, kWord, sizeof(kWord) - 1);
  abort();
}

}  // namespace

extern "C" {
void* __libc_malloc(size_t n);
void* __libc_calloc(size_t n, size_t m);
void* __libc_realloc(void* p, size_t n);
void __libc_free(void* p);

void* malloc(size_t n) {
  note();
  return __libc_malloc(n);
}
void* calloc(size_t n, size_t m) {
  note();
  return __libc_calloc(n, m);
}
void* realloc(void* p, size_t n) {
  note();
  return __libc_realloc(p, n);
}
void free(void* p) {
  if (armed && p != nullptr) note();
  __libc_free(p);
}
}

namespace mrc::nic {
namespace {

std::uint64_t sent_packets = 0;

std::uint16_t lossy(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  for (std::uint16_t i = 0; i < n; ++i) {
    if (++sent_packets % 97 == 0) {
      rte_pktmbuf_free(pkts[i]);
    } else if (rte_eth_tx_burst(port, queue, &pkts[i], 1) != 1) {
      return i;
    }
  }
  return n;
}

bool transfer() {
  Wiring s;
  s.attr.path_mtu = 1024;
  s.attr.timeout = 8;
  s.tx_tap = {lossy, lossy};
  TwoNics net(s);
  Host& a = net.host[0];
  Host& b = net.host[1];
  std::array<transport::Completion, 32> wc;
  std::size_t done = 0;
  std::size_t received = 0;
  std::size_t posted = 0;
  constexpr std::size_t kMessages = 200;
  for (std::uint64_t i = 0; i < kMessages; ++i) b.w().post_recv(b.qpn, {i});
  armed = true;
  for (int i = 0; i < 200'000 && (done < kMessages || received < kMessages); ++i) {
    while (posted < kMessages) {
      auto wr = TwoNics::write(a, b, posted, posted * 5000, 5000);
      wr.opcode = transport::WrOpcode::kRdmaWriteWithImm;
      if (TwoNics::post(a, wr) != PostStatus::kOk) break;
      ++posted;
    }
    net.now = net.now + microseconds(2);
    a.w().poll_at(net.now);
    b.w().poll_at(net.now);
    done += a.w().poll_cq(a.qpn, wc);
    received += b.w().poll_cq(b.qpn, wc);
  }
  armed = false;
  const auto q = a.nic->query_qp(a.qpn);
  std::printf(
      "no_alloc: %zu of %zu messages, %zu received, %llu retransmissions, %lu allocations before and after\n",
      done, kMessages, received, static_cast<unsigned long long>(q->counters.tx_rtx), calls.load());
  return done == kMessages && received == kMessages && q->counters.tx_rtx > 0 && calls > 0;
}

}  // namespace
}  // namespace mrc::nic

int main() {
  const char* args[] = {"nic_no_alloc", "--no-huge", "--no-pci",       "-m",           "256",
                        "-l",           "0",         "--no-telemetry", "--log-level=3"};
  char* argv[9];
  for (int i = 0; i < 9; ++i) argv[i] = strdup(args[i]);
  if (rte_eal_init(9, argv) < 0) return 2;
  // A detector that cannot fire proves nothing: `calls` counts what construction allocates.
  return mrc::nic::transfer() ? 0 : 1;
}
