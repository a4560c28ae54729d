// SPDX-License-Identifier: BSD-3-Clause
#include "pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/rng.h"

namespace mrc::endpoint {
namespace {

// Odd: i * kStep takes 2^64 different values. One addition a word lets the compiler use vectors.
constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;
constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kBlockWords = 32;

std::uint64_t first_word(const PatternKey& key, std::size_t offset) {
  assert(offset % kWord == 0);
  const std::uint64_t id = mix64(key.seed ^ mix64((std::uint64_t{key.flow} << 32) | key.phase));
  return mix64(id + key.message) + kStep * (offset / kWord);
}

void fill(std::uint64_t word, std::uint64_t flip, void* dst, std::size_t n) {
  auto* out = static_cast<unsigned char*>(dst);
  const std::size_t words = n / kWord;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t v = (word + kStep * i) ^ flip;
    std::memcpy(out + i * kWord, &v, kWord);
  }
  const std::uint64_t last = (word + kStep * words) ^ flip;
  if (n % kWord != 0) std::memcpy(out + words * kWord, &last, n % kWord);  // nothing may be nowhere: no null
}

Mismatch locate(std::uint64_t word, const unsigned char* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t v = word + kStep * (i / kWord);
    unsigned char want[kWord];
    std::memcpy(want, &v, kWord);
    if (in[i] != want[i % kWord]) {
      return {i, want[i % kWord], in[i], in[i] == static_cast<unsigned char>(~want[i % kWord])};
    }
  }
  return {};
}

}  // namespace

void fill_pattern(const PatternKey& key, std::size_t offset, void* dst, std::size_t n) {
  fill(first_word(key, offset), 0, dst, n);
}

void fill_poison(const PatternKey& key, std::size_t offset, void* dst, std::size_t n) {
  fill(first_word(key, offset), ~std::uint64_t{0}, dst, n);
}

std::optional<Mismatch> check_pattern(const PatternKey& key, std::size_t offset, const void* src,
                                      std::size_t n) {
  const std::uint64_t word = first_word(key, offset);
  const auto* in = static_cast<const unsigned char*>(src);
  const std::size_t words = n / kWord;
  for (std::size_t done = 0; done < words; done += kBlockWords) {
    const std::size_t count = std::min(kBlockWords, words - done);
    std::uint64_t differences = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t v;
      std::memcpy(&v, in + (done + i) * kWord, kWord);
      differences |= v ^ (word + kStep * (done + i));
    }
    if (differences != 0) {
      Mismatch m = locate(word + kStep * done, in + done * kWord, count * kWord);
      m.offset += offset + done * kWord;
      return m;
    }
  }
  const std::uint64_t last = word + kStep * words;
  if (n % kWord != 0 && std::memcmp(in + words * kWord, &last, n % kWord) != 0) {
    Mismatch m = locate(last, in + words * kWord, n % kWord);
    m.offset += offset + words * kWord;
    return m;
  }
  return std::nullopt;
}

std::string describe(const PatternKey& key, const Mismatch& m) {
  return fmt::format("QP {}, message {}, byte {}: want 0x{:02x}, found 0x{:02x}{}", key.flow, key.message,
                     m.offset, m.want, m.got, m.poison ? " (never written)" : "");
}

}  // namespace mrc::endpoint
