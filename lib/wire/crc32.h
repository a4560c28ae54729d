// SPDX-License-Identifier: BSD-3-Clause
// CRC-32 as Ethernet and the ICRC have it. Long buffers go to ISA-L. Of the short ones, which every packet
// has (its headers; all of a control packet or a small message), a chain of dependent multiplications is all
// latency, which the CRCs of a burst share: four side by side take no longer than one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace mrc::wire {

/// CRC of `bytes` bytes appended to a CRC of `seed`; 0 to begin. Any thread.
std::uint32_t crc32(std::uint32_t seed, const std::uint8_t* p, std::size_t bytes);

inline constexpr std::uint32_t kMinShortBytes = 16;
/// From here on ISA-L works on several blocks at a time.
inline constexpr std::uint32_t kMaxShortBytes = 256;

/// `bytes` bytes at `data`, each ORed with the byte at the same place of `mask`.
/// kMinShortBytes <= bytes <= kMaxShortBytes; nothing outside of them is read.
struct MaskedPiece {
  const std::uint8_t* data;
  const std::uint8_t* mask;
  std::uint32_t bytes;
};

/// crc[i] = crc32(seed, pieces[i] masked). Neighbours alike in length and mask go together. Any thread.
void masked_crc32(std::uint32_t seed, std::span<const MaskedPiece> pieces, std::uint32_t* crc);

/// The same for one, through ISA-L: what a CPU without carry-less multiplication uses. Public for its test.
std::uint32_t masked_crc32_portable(std::uint32_t seed, const MaskedPiece& piece);

}  // namespace mrc::wire
