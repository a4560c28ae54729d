// SPDX-License-Identifier: BSD-3-Clause
// The bytes of a message as a function of (seed, QP, message, offset). Every 8-byte word of a message differs
// from every other, so a packet placed at a wrong offset, or a message in another's slot, shows. Sender and
// receiver compute it independently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mrc::endpoint {

/// Identity of one message. `flow` tells QPs and directions apart, `message` counts within phase and QP.
struct PatternKey {
  std::uint64_t seed = 0;
  std::uint32_t flow = 0;
  std::uint32_t phase = 0;
  std::uint64_t message = 0;
};

/// Writes bytes [offset, offset + n) of the message to dst. offset is a multiple of 8.
void fill_pattern(const PatternKey& key, std::size_t offset, void* dst, std::size_t n);

/// Writes what the message can never hold at these offsets: the complement, so that each single byte that was
/// not placed is found, in messages of one byte too.
void fill_poison(const PatternKey& key, std::size_t offset, void* dst, std::size_t n);

struct Mismatch {
  std::size_t offset = 0;
  std::uint8_t want = 0;
  std::uint8_t got = 0;
  bool poison = false;  ///< the byte is what fill_poison left: nothing was placed there
};
/// The first byte of [offset, offset + n) that differs, or none. offset is a multiple of 8.
std::optional<Mismatch> check_pattern(const PatternKey& key, std::size_t offset, const void* src,
                                      std::size_t n);

/// "QP flow 3, message 17, byte 4096: want 0x5a, found 0xa5 (never written)".
std::string describe(const PatternKey& key, const Mismatch& m);

}  // namespace mrc::endpoint
