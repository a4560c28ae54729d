// SPDX-License-Identifier: BSD-3-Clause
#include <linux/membarrier.h>
#include <rte_mbuf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csetjmp>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

#include "ethdev/burst.h"

namespace mrc::ethdev {
namespace {

struct Gate {
  std::atomic<bool> open{false};
  std::atomic<std::uint64_t> faults{0};
  std::atomic<std::uint64_t> tx_mbufs_lost{0};
};
std::array<Gate, RTE_MAX_ETHPORTS> gates;

// The port whose burst this thread is inside. Constant-initialized and in the executable's own TLS, so that
// the signal handler may read it in any thread.
constexpr int kNoPort = -1;
thread_local constinit std::atomic<int> armed_port{kNoPort};
thread_local sigjmp_buf armed_jump;

/// The armed_port of every thread that ever made a guarded burst, for close_gate().
class Threads {
 public:
  void add(std::atomic<int>* armed) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(armed);
  }
  void remove(std::atomic<int>* armed) {
    const std::scoped_lock lock(mutex_);
    std::erase(all_, armed);
  }
  bool any_inside(int port) {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(all_,
                               [&](auto* armed) { return armed->load(std::memory_order_acquire) == port; });
  }

 private:
  std::mutex mutex_;
  std::vector<std::atomic<int>*> all_;
};
Threads threads;

thread_local constinit bool registered = false;
void register_thread() {
  struct Registration {
    Registration() { threads.add(&armed_port); }
    ~Registration() { threads.remove(&armed_port); }
  };
  thread_local const Registration registration;
  registered = true;
}

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
  // The default again: on return the instruction faults once more, and the process dies of it where it
  // should. A signal that another process sent does not come back by itself.
  std::signal(signal, SIG_DFL);
  if (info->si_code <= 0) std::raise(signal);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int port = armed_port.load(std::memory_order_relaxed);
  if (info->si_code > 0 && port != kNoPort && driver_says_down(static_cast<std::uint16_t>(port)))
    siglongjmp(armed_jump, 1);
  chain(signal, info, context);
}

void install_handlers() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  // NODEFER: the jump leaves the handler without returning, the signal must not stay blocked.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_segv);
  sigaction(SIGBUS, &action, &previous_bus);  // the peer may also have shrunk the file behind the mapping
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

/// Orders "gate closed" before the look at armed_port, in all threads, so that bursts need no fence of their
/// own.
void fence_in_all_threads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  constexpr std::chrono::milliseconds kStoresAreVisible{1};  // a kernel without membarrier
  std::this_thread::sleep_for(kStoresAreVisible);
}

/// True: the burst may run. The jump is set before.
bool enter(std::uint16_t port) {
  armed_port.store(port, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (likely(gates[port].open.load(std::memory_order_acquire))) return true;
  armed_port.store(kNoPort, std::memory_order_relaxed);
  return false;
}

void leave() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  armed_port.store(kNoPort, std::memory_order_release);
}

void close_after_fault(std::uint16_t port) {
  gates[port].faults.fetch_add(1, std::memory_order_relaxed);
  gates[port].open.store(false, std::memory_order_release);
  leave();
}

}  // namespace

// Nothing with a destructor may live in these two frames, and nothing may change between sigsetjmp and the
// jump that is read after it.
std::uint16_t guarded_rx_burst(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  if (unlikely(!registered)) register_thread();
  std::fill_n(pkts, n, nullptr);  // after a fault: what is set was received whole
  if (unlikely(sigsetjmp(armed_jump, 0) != 0)) {
    close_after_fault(port);
    std::uint16_t got = 0;
    while (got < n && pkts[got] != nullptr) ++got;
    return got;
  }
  if (!enter(port)) return 0;
  const std::uint16_t got = rte_eth_rx_burst(port, queue, pkts, n);
  leave();
  return got;
}

std::uint16_t guarded_tx_burst(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
  if (unlikely(!registered)) register_thread();
  if (unlikely(sigsetjmp(armed_jump, 0) != 0)) {
    close_after_fault(port);
    gates[port].tx_mbufs_lost.fetch_add(n, std::memory_order_relaxed);
    return n;
  }
  if (!enter(port)) return 0;
  const std::uint16_t sent = rte_eth_tx_burst(port, queue, pkts, n);
  leave();
  return sent;
}

void install_burst_guard() {
  static std::once_flag once;
  std::call_once(once, install_handlers);
}

void open_gate(std::uint16_t port) {
  gates[port].open.store(true, std::memory_order_release);
}

void close_gate(std::uint16_t port) {
  gates[port].open.store(false, std::memory_order_seq_cst);
  fence_in_all_threads();
  while (threads.any_inside(port)) std::this_thread::yield();
}

bool gate_is_open(std::uint16_t port) {
  return gates[port].open.load(std::memory_order_acquire);
}

bool guarded_link_up(std::uint16_t port) {
  return gate_is_open(port) && !driver_says_down(port);
}

GuardStats guard_stats(std::uint16_t port) {
  return {gates[port].faults.load(std::memory_order_relaxed),
          gates[port].tx_mbufs_lost.load(std::memory_order_relaxed)};
}

}  // namespace mrc::ethdev
