// SPDX-License-Identifier: BSD-3-Clause
// From our configuration to an EAL command line that works on this machine, or to one line that says why not.
// Pure: no DPDK call, no side effect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ethdev/machine_facts.h"

namespace mrc::ethdev {

enum class Hugepages : std::uint8_t {
  kAuto,     ///< used when enough are free, otherwise ordinary pages
  kNever,    ///< ordinary pages
  kRequire,  ///< an error when too few are free
};

/// How EAL is to be started. Defaults: one lcore, no NIC, hugepages if there are any.
struct EalConfig {
  std::string program = "softmrc";
  /// lcore i runs on CPU cpus[i]; entry 0 is the calling thread. A CPU may stand several times (its lcores
  /// share it, so they must yield when idle). Empty: one lcore on the first usable CPU.
  std::vector<unsigned> cpus;
  std::uint32_t memory_mib = 256;  ///< all mempools and rings of the process; see PoolPlan
  Hugepages hugepages = Hugepages::kAuto;
  std::vector<std::string> pci_allow;  ///< PCI addresses; none: the PCI bus is not probed at all
  std::vector<std::string> vdevs;      ///< "net_memif0,role=server,..." (ethdev/vdev.h builds them)
  std::string file_prefix;             ///< empty: "softmrc-PID"
  bool telemetry = false;              ///< the socket dpdk-telemetry.py talks to
  std::string log_level = "error";     ///< EAL's words: emergency .. debug
  /// Passed on as they are (what the user wrote after `--`). An option of ours that the user gives too is
  /// left out.
  std::vector<std::string> extra_args;

  /// A small process without NIC and hugepages, `lcores` lcores on the first CPU: tests start with this.
  static EalConfig for_tests(unsigned lcores = 1);
};

/// What will be handed to rte_eal_init, and why.
struct EalPlan {
  std::vector<std::string> args;        ///< argv[0] included
  std::vector<std::string> notes;       ///< one line each, for a person: memory, lcores, devices
  std::vector<std::string> vdev_names;  ///< these ports must exist afterwards
  bool uses_hugepages = false;

  [[nodiscard]] std::string command_line() const;  ///< args, quoted for a shell
};

/// Limits: lcores 1..128 (RTE_MAX_LCORE), memory 64 MiB .. 1 TiB, pci_allow and vdevs 32 together
/// (RTE_MAX_ETHPORTS).
[[nodiscard]] Result<EalPlan> plan_eal(const EalConfig& config, const MachineFacts& facts);

/// The lines of EAL's and its drivers' output that are not said at every start, in order.
[[nodiscard]] std::vector<std::string> telling_lines(const std::string& output);

/// What EAL printed while it failed, as one line with a way out. `errno_text`: rte_strerror of its error.
[[nodiscard]] std::string explain_eal_failure(const std::string& output, const std::string& errno_text);

}  // namespace mrc::ethdev
