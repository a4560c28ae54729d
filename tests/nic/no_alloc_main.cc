// SPDX-License-Identifier: BSD-3-Clause
// A program of its own, because its malloc is: while armed, any allocation aborts with a word why. Moves data
// through every part of the path: posts, retransmission, WriteIMM, completions, timers. Then control calls of
// another thread meet a worker that runs: what they need they have to bring.
#include <rte_eal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "two_nics.h"

namespace {

std::atomic<bool> armed{false};
std::atomic<bool> worker_armed{false};
thread_local constinit bool is_worker = false;
std::atomic<unsigned long> calls{0};

void note() {
  ++calls;
  if (!armed && !(is_worker && worker_armed)) return;
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
  if ((armed || is_worker) && p != nullptr) note();
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

/// The thread that polls this is a worker between the beginning and the end of run(), where EAL may allocate.
std::uint16_t mark_thread(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  is_worker = true;
  return rte_eth_rx_burst(port, queue, pkts, n);
}

bool control_calls() {
  Wiring s;
  s.real_time = true;
  s.rx_tap = {mark_thread, nullptr};
  TwoNics net(s);
  Nic& nic = *net.host[0].nic;
  std::atomic<bool> stop{false};
  std::thread thread([&] { net.host[0].w().run(stop); });
  while (nic.snapshot(0).polls < 10) std::this_thread::yield();
  worker_armed = true;
  const auto cc = std::make_shared<cc::Qpcc>(cc::FixedWindow(1 << 20));
  std::vector<std::uint32_t> qpns;
  bool ok = true;
  for (int i = 0; i < 8; ++i) {
    qpns.push_back(net.add_pair(i % 2 == 0 ? cc : nullptr)[0]);
    ok = ok && nic.create_app_queue(0, 64) && nic.query_qp(qpns.back()) && nic.query_cc(qpns.back()) &&
         nic.set_ev_state(qpns.back(), 3, path::EvState::kDenied) && nic.poll_ev_events(qpns.back(), 8);
  }
  for (const std::uint32_t qpn : qpns) ok = ok && nic.destroy_qp(qpn);
  worker_armed = false;
  stop = true;
  thread.join();
  std::printf("no_alloc: %zu queue pairs made and ended beside a worker: %s\n", qpns.size(),
              ok ? "ok" : "an error");
  return ok;
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
  const bool moved = mrc::nic::transfer();
  return mrc::nic::control_calls() && moved ? 0 : 1;
}
