// SPDX-License-Identifier: BSD-3-Clause
#include "nic/memory_table.h"

#include <cassert>
#include <string>

namespace mrc::nic {

MemoryTable::MemoryTable(std::uint32_t max_regions, std::uint64_t seed)
    : size_(max_regions), regions_(std::make_unique<Region[]>(max_regions)), rng_(seed) {
  assert(max_regions >= 1 && max_regions <= kMaxRegions);
}

Result<MemoryKeys> MemoryTable::add(void* address, std::size_t bytes, std::uint32_t access) {
  if (address == nullptr || bytes == 0) {
    return Error{"memory region: address is null or length is 0; register at least one byte"};
  }
  const auto base = reinterpret_cast<std::uint64_t>(address);
  if (base + bytes < base) {
    return Error{"memory region: address + " + std::to_string(bytes) +
                 " bytes wraps around the address space"};
  }
  if ((access & ~std::uint32_t{kAccessRemoteWrite}) != 0) {
    return Error{"memory region: access " + std::to_string(access) +
                 " has unknown bits; known: remote write = 1"};
  }
  for (std::uint32_t i = 0; i < size_; ++i) {
    Region& r = regions_[i];
    if (r.taken) continue;
    r.taken = true;
    r.base = base;
    r.bytes = bytes;
    r.access = access;
    std::uint32_t key = 0;
    while ((key & 0xFFFF) == 0) key = (i << 16) | static_cast<std::uint32_t>(rng_.below(0x10000));
    r.key.store(key, std::memory_order_release);
    ++used_;
    return MemoryKeys{key, key};
  }
  return Error{"memory region: all " + std::to_string(size_) +
               " regions are in use; raise max_regions (limit " + std::to_string(kMaxRegions) +
               ") or deregister one"};
}

std::optional<MemoryTable::Extent> MemoryTable::extent(std::uint32_t key) const {
  const std::uint32_t index = key >> 16;
  if (key == 0 || index >= size_ || regions_[index].key.load(std::memory_order_relaxed) != key) return {};
  return Extent{regions_[index].base, regions_[index].bytes};
}

bool MemoryTable::close(std::uint32_t key) {
  if (!extent(key)) return false;
  regions_[key >> 16].key.store(0, std::memory_order_release);
  return true;
}

void MemoryTable::reopen(std::uint32_t key) {
  Region& r = regions_[key >> 16];
  assert(r.taken && r.key.load(std::memory_order_relaxed) == 0);
  r.key.store(key, std::memory_order_release);
}

void MemoryTable::release(std::uint32_t key) {
  Region& r = regions_[key >> 16];
  assert(r.taken && r.key.load(std::memory_order_relaxed) == 0);
  r.taken = false;
  --used_;
}

}  // namespace mrc::nic
