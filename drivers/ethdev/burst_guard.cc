// SPDX-License-Identifier: BSD-3-Clause
#include <csetjmp>
#include <csignal>

#include <array>
#include <atomic>
#include <mutex>

#include "ethdev/burst.h"

namespace mrc::ethdev {
namespace {

struct PortGuard {
  std::atomic<bool> dead{false};
  std::atomic<std::uint64_t> faults{0};
  std::atomic<std::uint64_t> tx_mbufs_lost{0};
  std::atomic<std::uint64_t> rx_bursts_lost{0};
};

std::array<PortGuard, RTE_MAX_ETHPORTS> guards;

constexpr int kNoPort = -1;

// One burst at a time a thread. The executable's own TLS: reading it in a signal handler allocates nothing.
struct Armed {
  volatile std::sig_atomic_t port = kNoPort;
  sigjmp_buf jump;
};
thread_local Armed armed;

struct sigaction previous_segv;
struct sigaction previous_bus;

/// True if the driver has declared this port's link down. Reads the driver's state only: no lock, no system
/// call.
bool driver_says_down(std::uint16_t port) {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_DOWN;
}

void chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction& previous = signal == SIGSEGV ? previous_segv : previous_bus;
  if ((previous.sa_flags & SA_SIGINFO) != 0 && previous.sa_sigaction != nullptr) {
    previous.sa_sigaction(signal, info, context);
    return;
  }
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
    return;
  }
  // The default again: on return the instruction faults once more and the process dies of it, as it should.
  std::signal(signal, SIG_DFL);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int port = armed.port;
  if (port != kNoPort && driver_says_down(static_cast<std::uint16_t>(port))) {
    armed.port = kNoPort;
    siglongjmp(armed.jump, 1);
  }
  chain(signal, info, context);
}

void install_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  // NODEFER: the jump leaves the handler without returning, the signal must not stay blocked. ONSTACK: as
  // AddressSanitizer.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);  // the peer may also have shrunk the file behind the mapping
}

void mark_dead(std::uint16_t port) {
  guards[port].faults.fetch_add(1, std::memory_order_relaxed);
  guards[port].dead.store(true, std::memory_order_release);
}

}  // namespace

// Nothing with a destructor may live in these two frames: the jump skips it.
std::uint16_t guarded_rx_burst(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  if (unlikely(guards[port].dead.load(std::memory_order_relaxed))) return 0;
  if (unlikely(sigsetjmp(armed.jump, 0) != 0)) {
    mark_dead(port);
    guards[port].rx_bursts_lost.fetch_add(1, std::memory_order_relaxed);
    return 0;
  }
  armed.port = port;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::uint16_t got = rte_eth_rx_burst(port, queue, pkts, n);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  armed.port = kNoPort;
  return got;
}

std::uint16_t guarded_tx_burst(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  if (unlikely(guards[port].dead.load(std::memory_order_relaxed))) return 0;
  if (unlikely(sigsetjmp(armed.jump, 0) != 0)) {
    mark_dead(port);
    guards[port].tx_mbufs_lost.fetch_add(n, std::memory_order_relaxed);
    return n;
  }
  armed.port = port;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::uint16_t sent = rte_eth_tx_burst(port, queue, pkts, n);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  armed.port = kNoPort;
  return sent;
}

void enable_burst_guard(std::uint16_t port) {
  static std::once_flag once;
  std::call_once(once, install_handler);
  guards[port].dead.store(false, std::memory_order_release);
}

GuardStats guard_stats(std::uint16_t port) {
  const PortGuard& g = guards[port];
  return {g.faults.load(), g.tx_mbufs_lost.load(), g.rx_bursts_lost.load()};
}

bool port_is_dead(std::uint16_t port) {
  return guards[port].dead.load(std::memory_order_acquire);
}

void revive_port(std::uint16_t port) {
  guards[port].dead.store(false, std::memory_order_release);
}

}  // namespace mrc::ethdev
