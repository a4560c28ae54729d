// SPDX-License-Identifier: BSD-3-Clause
// Both ends of the endpoint on one core, with the product's defaults, ready to move bytes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "nic/nic.h"
#include "ring/ring_pair.h"

namespace mrc::perf {

inline constexpr unsigned kPlanes = 4;
inline constexpr unsigned kEvs = 32;

/// Application memory of a run: big pages where the kernel gives them, touched once.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] std::uint8_t* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return bytes_; }

 private:
  std::uint8_t* data_;
  std::size_t bytes_;
};

/// What a run may meet that makes it another run than the one meant.
struct Troubles {
  std::uint64_t retransmissions = 0;
  std::uint64_t timer_expiries = 0;
  std::uint64_t poll_gaps = 0;  ///< times the CPU was away (D13)

  [[nodiscard]] bool repaired() const { return retransmissions + timer_expiries != 0; }
  Troubles& operator+=(const Troubles& o);
  [[nodiscard]] Troubles operator-(const Troubles& o) const;
};

struct RunResult {
  double seconds = 0;  ///< until the last completion; 0: one failed
  Troubles troubles;
};

/// Two Nics over a RingPair, one QP each, RTS. `bytes` of source and target memory are registered.
class Ends {
 public:
  static Result<std::unique_ptr<Ends>> create(const ring::RingPair& rings, std::size_t bytes,
                                              std::uint16_t pmtu, bool stage_timing = false);
  ~Ends();
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  /// Writes `messages` of `message_bytes` from source to target, one after the other and round again, both
  /// ends polled in turn by this thread.
  RunResult run(std::uint64_t messages, std::uint32_t message_bytes);
  /// The same with the target's end polled by a thread of its own, which is pinned to `cpu`.
  RunResult run_on_two_cores(std::uint64_t messages, std::uint32_t message_bytes, unsigned cpu);
  /// Whether the first `bytes` of target equal the source.
  [[nodiscard]] bool verify(std::size_t bytes) const;
  /// Fills the target with what the source does not hold, so that verify() can fail.
  void poison();

  [[nodiscard]] Buffer& source() { return source_; }
  [[nodiscard]] Buffer& target() { return target_; }
  [[nodiscard]] nic::Nic& nic(unsigned end) { return *nics_[end]; }
  [[nodiscard]] std::uint32_t qpn(unsigned end) const { return qpns_[end]; }

 private:
  Ends(std::size_t bytes) : source_(bytes), target_(bytes) {}
  Result<void> open(const ring::RingPair& rings, std::uint16_t pmtu, bool stage_timing);
  double drive(std::uint64_t messages, std::uint32_t message_bytes, bool poll_target);
  Troubles troubles();

  Buffer source_;
  Buffer target_;
  std::array<std::unique_ptr<nic::Nic>, 2> nics_;
  std::array<std::uint32_t, 2> qpns_{};
  nic::MemoryKeys source_keys_;
  nic::MemoryKeys target_keys_;
};

}  // namespace mrc::perf
