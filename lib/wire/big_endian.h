// SPDX-License-Identifier: BSD-3-Clause
// Big-endian integers of alignment 1, the building blocks of wire structs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace mrc::wire {

/// A big-endian unsigned integer of `Bytes` bytes. Reads and writes as a host integer; alignment 1.
/// Values wider than the field are cut. Plain value type.
template <class T, std::size_t Bytes>
class BigEndian {
  static_assert(Bytes <= sizeof(T) && std::endian::native == std::endian::little);

 public:
  constexpr BigEndian() = default;
  constexpr BigEndian(T v) { set(v); }  // NOLINT(google-explicit-constructor)
  constexpr BigEndian& operator=(T v) {
    set(v);
    return *this;
  }
  constexpr operator T() const { return get(); }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr T get() const {
    if (!std::is_constant_evaluated() && Bytes == sizeof(T)) {
      T v;
      std::memcpy(&v, b_, sizeof v);
      return swap(v);
    }
    T v = 0;
    for (std::size_t i = 0; i < Bytes; ++i) v = static_cast<T>((v << 8) | b_[i]);
    return v;
  }

 private:
  constexpr void set(T v) {
    if (!std::is_constant_evaluated() && Bytes == sizeof(T)) {
      const T w = swap(v);
      std::memcpy(b_, &w, sizeof w);
      return;
    }
    for (std::size_t i = 0; i < Bytes; ++i) b_[i] = static_cast<std::uint8_t>(v >> (8 * (Bytes - 1 - i)));
  }
  static constexpr T swap(T v) {
    if constexpr (sizeof(T) == 2) return __builtin_bswap16(v);
    if constexpr (sizeof(T) == 4) return __builtin_bswap32(v);
    return static_cast<T>(__builtin_bswap64(v));
  }
  std::uint8_t b_[Bytes]{};
};

using Be16 = BigEndian<std::uint16_t, 2>;
using Be24 = BigEndian<std::uint32_t, 3>;
using Be32 = BigEndian<std::uint32_t, 4>;
using Be64 = BigEndian<std::uint64_t, 8>;
static_assert(sizeof(Be24) == 3 && alignof(Be64) == 1);

/// The bytes at `p` as a wire struct. memcpy keeps it defined; compilers turn it into plain loads.
template <class H>
inline H load_header(const std::uint8_t* p) {
  H h;
  std::memcpy(&h, p, sizeof h);
  return h;
}
template <class H>
inline void store_header(std::uint8_t* p, const H& h) {
  std::memcpy(p, &h, sizeof h);
}

inline std::uint16_t load_be16(const std::uint8_t* p) {
  std::uint16_t v;
  std::memcpy(&v, p, 2);
  return __builtin_bswap16(v);
}
inline std::uint32_t load_be32(const std::uint8_t* p) {
  std::uint32_t v;
  std::memcpy(&v, p, 4);
  return __builtin_bswap32(v);
}
inline void store_be16(std::uint8_t* p, std::uint32_t v) {
  const std::uint16_t w = __builtin_bswap16(static_cast<std::uint16_t>(v));
  std::memcpy(p, &w, 2);
}
inline std::uint64_t load_be64(const std::uint8_t* p) {
  std::uint64_t v;
  std::memcpy(&v, p, 8);
  return __builtin_bswap64(v);
}
inline void store_be64(std::uint8_t* p, std::uint64_t v) {
  const std::uint64_t w = __builtin_bswap64(v);
  std::memcpy(p, &w, 8);
}
inline void store_be32(std::uint8_t* p, std::uint32_t v) {
  const std::uint32_t w = __builtin_bswap32(v);
  std::memcpy(p, &w, 4);
}

}  // namespace mrc::wire
