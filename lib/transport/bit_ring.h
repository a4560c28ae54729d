// SPDX-License-Identifier: BSD-3-Clause
// One bit per packet of a sliding window, read and written in 64-bit words: a SACK bitmap meets the window in
// two loads.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>

#include "transport/seq.h"

namespace mrc::transport {

/// Bit of packet s at s mod capacity. The owner keeps its live range at most capacity - 64 wide and every
/// other bit 0, so that a word never shows an alias. Memory is taken at construction.
class BitRing {
 public:
  explicit BitRing(std::uint32_t window_pkts)
      : mask_(std::bit_ceil(window_pkts + 64) - 1),
        words_(std::make_unique<std::uint64_t[]>((mask_ + 1) / 64)) {}

  [[nodiscard]] std::uint32_t capacity() const { return mask_ + 1; }
  [[nodiscard]] bool test(Seq s) const { return (word(s) >> (s & 63) & 1) != 0; }
  void set(Seq s) { word(s) |= std::uint64_t{1} << (s & 63); }
  void clear(Seq s) { word(s) &= ~(std::uint64_t{1} << (s & 63)); }

  /// Bit i of the result is the bit of packet from + i.
  [[nodiscard]] std::uint64_t extract(Seq from) const {
    const std::uint64_t shift = from & 63;
    return word(from) >> shift | (word(from + 64) << 1) << (63 - shift);
  }
  /// Clears packet from + i for each bit i of `bits`.
  void clear_bits(Seq from, std::uint64_t bits) {
    const std::uint64_t shift = from & 63;
    word(from) &= ~(bits << shift);
    word(from + 64) &= ~((bits >> 1) >> (63 - shift));
  }
  /// Lowest set packet of [from, to), or `to`.
  [[nodiscard]] Seq find_set(Seq from, Seq to) const {
    for (Seq s = from; s < to; s += 64) {
      const std::uint64_t bits = extract(s);
      if (bits != 0) return std::min<Seq>(s + static_cast<unsigned>(std::countr_zero(bits)), to);
    }
    return to;
  }
  /// Lowest clear packet of [from, to), or `to`.
  [[nodiscard]] Seq find_clear(Seq from, Seq to) const {
    for (Seq s = from; s < to; s += 64) {
      const std::uint64_t bits = ~extract(s);
      if (bits != 0) return std::min<Seq>(s + static_cast<unsigned>(std::countr_zero(bits)), to);
    }
    return to;
  }
  void reset() { std::fill_n(words_.get(), (mask_ + 1) / 64, std::uint64_t{0}); }
  [[nodiscard]] std::size_t bytes() const { return (mask_ + 1) / 8; }

 private:
  [[nodiscard]] std::uint64_t& word(Seq s) { return words_[(s & mask_) >> 6]; }
  [[nodiscard]] const std::uint64_t& word(Seq s) const { return words_[(s & mask_) >> 6]; }

  std::uint32_t mask_;
  std::unique_ptr<std::uint64_t[]> words_;
};

/// Bits of a 64-packet window at `base` that lie in [low, end). Peers may send any base (3.5: accept any
/// offset).
constexpr std::uint64_t window_mask(Seq base, Seq low, Seq end) {
  const Seq from = base < low ? low : base;
  const Seq to = base + 64 < end ? base + 64 : end;
  if (from >= to) return 0;
  const std::uint64_t width = to - from;
  const std::uint64_t ones = width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
  return ones << (from - base);
}

}  // namespace mrc::transport
