// SPDX-License-Identifier: BSD-3-Clause
// What this machine offers to DPDK, read before EAL starts: a start that cannot succeed is refused in words
// of ours, and leaves nothing behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mrc::ethdev {

/// Hugepages of one size.
struct HugepageFacts {
  std::uint64_t page_bytes = 0;
  std::uint64_t total_pages = 0;
  std::uint64_t free_pages = 0;
};

/// A snapshot; all sizes in bytes. Plain value, so that a test can make up any machine.
struct MachineFacts {
  std::vector<HugepageFacts> hugepages;      ///< ascending page size
  std::vector<unsigned> cpus;                ///< CPUs this process may run on, ascending
  std::uint64_t memory_available_bytes = 0;  ///< MemAvailable
  std::uint64_t memlock_bytes = 0;           ///< RLIMIT_MEMLOCK; the largest value when unlimited
  bool root = false;
  bool iommu = false;  ///< the kernel has IOMMU groups
  std::string pci_root = "/sys/bus/pci/devices";

  [[nodiscard]] std::uint64_t hugepage_free_bytes() const;
};

/// Reads /sys, /proc and the limits of the calling process. Missing files read as "none".
/// `root` is prefixed to /sys and /proc paths (tests).
[[nodiscard]] MachineFacts read_machine_facts(const std::string& root = "");

/// "0-3,6" <-> {0,1,2,3,6}. nullopt: not a CPU list.
[[nodiscard]] std::optional<std::vector<unsigned>> parse_cpu_list(const std::string& list);
[[nodiscard]] std::string format_cpu_list(const std::vector<unsigned>& cpus);

}  // namespace mrc::ethdev
