// SPDX-License-Identifier: BSD-3-Clause
// DSCP classes and numbers (MRC 7.3, section 1.15). The numbers are the network's configuration (C22), not
// protocol.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/types.h"

namespace mrc::wire {

/// ECN field, RFC 3168.
enum class Ecn : std::uint8_t { kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3 };

inline constexpr std::size_t kDscpClasses = 6;
inline constexpr std::uint8_t kMaxDscp = 63;

/// Class <-> DSCP number. Immutable once built; any thread reads.
class DscpMap {
 public:
  using Numbers = std::array<std::uint8_t, kDscpClasses>;  ///< in order of DscpClass, each 0..63
  /// no-trim, trimmable, retransmission, trimmed, trimmed-lasthop, control
  static constexpr Numbers kDefault = {0, 4, 8, 12, 16, 46};

  constexpr DscpMap() : DscpMap(kDefault) {}
  /// Numbers must be distinct for the trimmed classes; is_valid() tells. Values are cut to 6 bits.
  constexpr explicit DscpMap(const Numbers& numbers) : number_(numbers) {
    for (auto& n : number_) n &= kMaxDscp;
    // Later classes win a shared number only against classes before them; trimmed ones never share
    // (is_valid).
    trim_[number(DscpClass::kTrimmed)] = Trim::kTrimmed;
    trim_[number(DscpClass::kTrimmedLasthop)] = Trim::kTrimmedLasthop;
  }

  /// A switch's mark must not be mistaken: trimmed numbers differ from each other and from all others.
  [[nodiscard]] static constexpr bool is_valid(const Numbers& n) {
    for (std::size_t i = 0; i < kDscpClasses; ++i) {
      if (n[i] > kMaxDscp) return false;
      for (std::size_t j = 3; j <= 4; ++j)
        if (i != j && n[i] == n[j]) return false;
    }
    return true;
  }

  [[nodiscard]] constexpr std::uint8_t number(DscpClass c) const {
    return number_[static_cast<std::size_t>(c)];
  }
  /// The TOS / traffic class byte. Data is ECT(0), control is Not-ECT unless told otherwise (1.15).
  [[nodiscard]] constexpr std::uint8_t tos(DscpClass c) const {
    return tos(c, c == DscpClass::kControl ? Ecn::kNotEct : Ecn::kEct0);
  }
  [[nodiscard]] constexpr std::uint8_t tos(DscpClass c, Ecn ecn) const {
    return static_cast<std::uint8_t>((number(c) << 2) | static_cast<std::uint8_t>(ecn));
  }
  /// What the DSCP of a received TOS byte says about trimming (1.14).
  [[nodiscard]] constexpr Trim trim_of_tos(std::uint8_t tos) const { return trim_[tos >> 2]; }

 private:
  Numbers number_;
  std::array<Trim, 64> trim_{};
};

}  // namespace mrc::wire
