// SPDX-License-Identifier: BSD-3-Clause
// Registered memory: which bytes a key opens, and for what (3.3). The check of every Write that arrives.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "base/rng.h"
#include "nic/config.h"

namespace mrc::nic {

/// Keys are index << 16 | 16 random bits, so that a stale or guessed key misses. Thread rule: one control
/// thread adds and removes; any worker looks up. A removed entry may be reused only after every worker has
/// passed a quiescent point, which the caller sees to (Nic::deregister_memory).
class MemoryTable {
 public:
  MemoryTable(std::uint32_t max_regions, std::uint64_t seed);

  Result<MemoryKeys> add(void* address, std::size_t bytes, std::uint32_t access);
  /// First half of removal: the key opens nothing from now on. False: no such key.
  bool close(std::uint32_t key);
  /// Takes close() back: the key opens what it did.
  void reopen(std::uint32_t key);
  /// First byte and length of what `key` opens; nothing when it opens nothing.
  struct Extent {
    std::uint64_t base;
    std::uint64_t bytes;
  };
  [[nodiscard]] std::optional<Extent> extent(std::uint32_t key) const;
  /// Second half, after the quiescent point: the slot may be given again.
  void release(std::uint32_t key);

  /// Whether `key` grants `access` on all of [address, address + bytes). No wrap, no partial hit.
  [[nodiscard]] bool allows(std::uint32_t key, std::uint64_t address, std::uint64_t bytes,
                            std::uint32_t access) const {
    const std::uint32_t index = key >> 16;
    if (index >= size_) return false;
    const Region& r = regions_[index];
    if (key == 0 || r.key.load(std::memory_order_acquire) != key || (r.access & access) != access)
      return false;
    const std::uint64_t offset = address - r.base;
    return address >= r.base && bytes <= r.bytes && offset <= r.bytes - bytes;
  }
  [[nodiscard]] std::uint32_t regions() const { return used_; }

 private:
  struct Region {  // written before its key is published
    std::atomic<std::uint32_t> key{0};
    std::uint32_t access = 0;
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    bool taken = false;
  };
  std::uint32_t size_;
  std::unique_ptr<Region[]> regions_;
  Rng rng_;
  std::uint32_t used_ = 0;
};

}  // namespace mrc::nic
