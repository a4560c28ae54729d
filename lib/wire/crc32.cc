// SPDX-License-Identifier: BSD-3-Clause
// Short pieces are folded as in Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction" (Intel, 2009), for the reflected polynomial: bit 0 of a block is its highest power of x.
#include "wire/crc32.h"

#include <isa-l/crc.h>

#include <array>
#include <cassert>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mrc::wire {
namespace {

#if defined(__x86_64__)
const bool has_avx = __builtin_cpu_supports("avx") != 0;

/// ISA-L leaves the upper parts of the vector registers in use. Until they are cleared each SSE instruction,
/// and so every small copy that the compiler makes with one, keeps them by waiting for the register's former
/// value.
inline void clear_upper_registers() {
  if (has_avx) asm volatile("vzeroupper");
}
#else
inline void clear_upper_registers() {}
#endif

}  // namespace

std::uint32_t crc32(std::uint32_t seed, const std::uint8_t* p, std::size_t bytes) {
  const std::uint32_t crc = crc32_gzip_refl(seed, p, bytes);
  clear_upper_registers();
  return crc;
}

std::uint32_t masked_crc32_portable(std::uint32_t seed, const MaskedPiece& piece) {
  assert(piece.bytes <= kMaxShortBytes);
  std::array<std::uint8_t, kMaxShortBytes> masked;
  for (std::uint32_t i = 0; i < piece.bytes; ++i) masked[i] = piece.data[i] | piece.mask[i];
  return crc32(seed, masked.data(), piece.bytes);
}

#if defined(__x86_64__)
namespace {

// Above the floor we build for; the constants below tell whether this CPU has them.
#define MRC_TARGET_ONE __attribute__((target("pclmul,sse4.1")))
#define MRC_TARGET_FOUR __attribute__((target("pclmul,sse4.1,avx512f,avx512bw,vpclmulqdq")))
const bool has_one = __builtin_cpu_supports("pclmul") != 0;
const bool has_four = has_one && __builtin_cpu_supports("avx512f") != 0 &&
                      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;

constexpr std::uint32_t kPolynomial = 0xEDB88320;
/// x^n mod P, reflected, at the place where a carry-less product of reflected factors expects it.
constexpr long long power_of_x(unsigned n) {
  std::uint32_t r = 0x80000000;
  while (n-- > 0) r = (r >> 1) ^ ((r & 1) != 0 ? kPolynomial : 0U);
  return static_cast<long long>(std::uint64_t{r} << 1);
}
/// P with its 33rd bit, and floor(x^64 / P), both reflected.
constexpr long long kPolynomial33 = 0x1DB710641;
constexpr long long kQuotient = 0x1F7011641;

constexpr std::uint32_t kBlockBytes = 16;
using Block = __m128i;

/// Read n bytes before its middle: the shuffle that moves a block n bytes up and fills with zeros.
struct Shifts {
  std::uint8_t bytes[2 * kBlockBytes];
  constexpr Shifts() : bytes() {
    for (std::uint8_t i = 0; i < kBlockBytes; ++i) {
      bytes[i] = 0x80;
      bytes[kBlockBytes + i] = i;
    }
  }
};
constexpr Shifts kShifts;

inline Block load(const std::uint8_t* p) {
  return _mm_loadu_si128(reinterpret_cast<const Block*>(p));
}
/// Both factors of a fold over 128 bits; x^64; the divisor of Barrett's reduction.
inline Block fold_factors() {
  return _mm_set_epi64x(power_of_x(128 - 32), power_of_x(128 + 32));
}
inline Block divisor() {
  return _mm_set_epi64x(kQuotient, kPolynomial33);
}

// One piece. Its first block is the short one, filled with zeros in front, which a CRC does not see; all
// others are whole. At the end x mod P: 128 bits to 96, to 64, then Barrett's quotient and what it leaves.
MRC_TARGET_ONE std::uint32_t crc_of_one(std::uint32_t seed, const MaskedPiece& p) {
  const Block fold = fold_factors();
  const std::uint32_t fill = -p.bytes % kBlockBytes;
  Block x = _mm_or_si128(load(p.data), load(p.mask));
  x = _mm_xor_si128(x, _mm_cvtsi32_si128(static_cast<int>(~seed)));
  x = _mm_shuffle_epi8(x, load(&kShifts.bytes[kBlockBytes - fill]));
  for (std::uint32_t at = kBlockBytes - fill; at < p.bytes; at += kBlockBytes) {
    const Block next = _mm_or_si128(load(p.data + at), load(p.mask + at));
    const Block low = _mm_clmulepi64_si128(x, fold, 0x00);
    x = _mm_xor_si128(_mm_xor_si128(low, _mm_clmulepi64_si128(x, fold, 0x11)), next);
  }
  const Block low32 = _mm_set_epi32(0, -1, 0, -1);
  x = _mm_xor_si128(_mm_clmulepi64_si128(x, fold, 0x10), _mm_srli_si128(x, 8));
  const Block fold64 = _mm_cvtsi64_si128(power_of_x(64));
  x = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x, low32), fold64, 0x00), _mm_srli_si128(x, 4));
  Block q = _mm_clmulepi64_si128(_mm_and_si128(x, low32), divisor(), 0x10);
  q = _mm_clmulepi64_si128(_mm_and_si128(q, low32), divisor(), 0x00);
  return ~static_cast<std::uint32_t>(_mm_extract_epi32(_mm_xor_si128(x, q), 1));
}

/// In all quarters. (The plain broadcast makes g++ 12 warn of its own header.)
MRC_TARGET_FOUR inline __m512i broadcast(Block x) {
  return _mm512_maskz_broadcast_i32x4(0xFFFF, x);
}
/// The blocks at `at` of four pieces with one mask.
MRC_TARGET_FOUR inline __m512i load_four(const MaskedPiece* p, std::uint32_t at) {
  __m512i x = _mm512_castsi128_si512(load(p[0].data + at));
  x = _mm512_inserti32x4(x, load(p[1].data + at), 1);
  x = _mm512_inserti32x4(x, load(p[2].data + at), 2);
  x = _mm512_inserti32x4(x, load(p[3].data + at), 3);
  return _mm512_or_si512(x, broadcast(load(p[0].mask + at)));
}

// The same for four pieces of one length, a piece in each quarter of a register.
MRC_TARGET_FOUR void crc_of_four(std::uint32_t seed, const MaskedPiece* p, std::uint32_t* crc) {
  const __m512i fold = broadcast(fold_factors());
  const std::uint32_t fill = -p->bytes % kBlockBytes;
  const Block start = _mm_cvtsi32_si128(static_cast<int>(~seed));
  __m512i x = _mm512_xor_si512(load_four(p, 0), broadcast(start));
  x = _mm512_shuffle_epi8(x, broadcast(load(&kShifts.bytes[kBlockBytes - fill])));
  for (std::uint32_t at = kBlockBytes - fill; at < p->bytes; at += kBlockBytes) {
    const __m512i low = _mm512_clmulepi64_epi128(x, fold, 0x00);
    const __m512i high = _mm512_clmulepi64_epi128(x, fold, 0x11);
    x = _mm512_xor_si512(_mm512_xor_si512(low, high), load_four(p, at));
  }
  const __m512i low32 = _mm512_set1_epi64(0xFFFFFFFF);
  const __m512i divide = broadcast(divisor());
  x = _mm512_xor_si512(_mm512_clmulepi64_epi128(x, fold, 0x10), _mm512_bsrli_epi128(x, 8));
  const __m512i fold64 = _mm512_set1_epi64(power_of_x(64));
  x = _mm512_xor_si512(_mm512_clmulepi64_epi128(_mm512_and_si512(x, low32), fold64, 0x00),
                       _mm512_bsrli_epi128(x, 4));
  __m512i q = _mm512_clmulepi64_epi128(_mm512_and_si512(x, low32), divide, 0x10);
  q = _mm512_clmulepi64_epi128(_mm512_and_si512(q, low32), divide, 0x00);
  alignas(64) std::array<std::uint32_t, 16> lanes;
  _mm512_store_si512(lanes.data(), _mm512_xor_si512(x, q));
  for (std::size_t i = 0; i < 4; ++i) crc[i] = ~lanes[4 * i + 1];
}

/// The seed must lie in the first block as a whole.
bool fits(const MaskedPiece& p) {
  return p.bytes % kBlockBytes == 0 || p.bytes % kBlockBytes >= sizeof(std::uint32_t);
}
bool alike(const MaskedPiece& a, const MaskedPiece& b) {
  return a.bytes == b.bytes && a.mask == b.mask;
}

void masked_crc32_clmul(std::uint32_t seed, std::span<const MaskedPiece> pieces, std::uint32_t* crc) {
  for (std::size_t i = 0; i < pieces.size();) {
    const MaskedPiece* p = &pieces[i];
    assert(p->bytes >= kMinShortBytes && p->bytes <= kMaxShortBytes);
    if (!fits(*p)) [[unlikely]] {
      crc[i] = masked_crc32_portable(seed, *p);
      ++i;
    } else if (has_four && i + 4 <= pieces.size() && alike(p[0], p[1]) && alike(p[0], p[2]) &&
               alike(p[0], p[3])) {
      crc_of_four(seed, p, &crc[i]);
      i += 4;
    } else {
      crc[i] = crc_of_one(seed, *p);
      ++i;
    }
  }
}

}  // namespace
#endif

void masked_crc32(std::uint32_t seed, std::span<const MaskedPiece> pieces, std::uint32_t* crc) {
#if defined(__x86_64__)
  if (has_one) return masked_crc32_clmul(seed, pieces, crc);
#endif
  for (const MaskedPiece& p : pieces) *crc++ = masked_crc32_portable(seed, p);
}

}  // namespace mrc::wire
