// SPDX-License-Identifier: BSD-3-Clause
// DPDK's environment, started once a process and ended in order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "ethdev/eal_args.h"

namespace mrc::ethdev {

/// The running EAL. Movable; the last owner's destructor calls rte_eal_cleanup and removes the run-time
/// directory. All ports must be closed before. One per process and once per process: EAL cannot be started a
/// second time.
class Eal {
 public:
  /// Checks the machine, starts EAL with its output kept off the terminal, and verifies that every vdev
  /// became a port. The caller's CPU affinity is what it was before: a std::thread made later inherits all
  /// CPUs, not the one that rte_eal_init pins its caller to. Call pin_this_thread_to_lcore() where a worker
  /// polls on the calling thread. Errors: one line, with the fix; the process may go on without DPDK.
  static Result<Eal> init(const EalConfig& config);

  Eal(Eal&&) noexcept;
  Eal& operator=(Eal&&) noexcept;
  ~Eal();

  [[nodiscard]] const EalPlan& plan() const;  ///< effective arguments and notes, to be printed
  [[nodiscard]] std::string command_line() const { return plan().command_line(); }
  [[nodiscard]] const std::string& start_output() const;  ///< what EAL and the drivers said while starting

 private:
  struct State;
  explicit Eal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Affinity of the calling thread. False: the kernel refused (a CPU this process may not use).
bool set_this_thread_cpus(const std::vector<unsigned>& cpus);
/// Pins the calling thread to the CPUs of an lcore of the running EAL.
bool pin_this_thread_to_lcore(unsigned lcore);
/// CPUs the calling thread may run on.
[[nodiscard]] std::vector<unsigned> this_thread_cpus();

}  // namespace mrc::ethdev
