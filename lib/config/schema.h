// SPDX-License-Identifier: BSD-3-Clause
// The vocabulary in which a configuration is described once and then loaded, printed and documented from that
// one description. A visitor V offers, for a value reference and a line of documentation each:
//
//   v.integer(key, unsigned&, {lo, hi}, doc)    v.number(key, double&, lo, hi, doc)
//   v.micros(key, Duration&, lo, hi, doc)       v.bytes(key, uint64_t&, {lo, hi}, doc)   4096, 64K, 1M
//   v.integer_or_none(key, int32_t&, {lo, hi}, doc)
//   v.integer_or_auto(key, unsigned&, bool& is_auto, {lo, hi}, doc)      the number is kept when the word is
//   given v.flag(key, bool&, doc)                     v.text(key, string&, rule, doc) v.choice(key, E&,
//   names, doc)               v.section(key, S&, doc)                  a map v.list(key, vector<S>&, max,
//   doc)           v.texts(key, vector<string>&, max, rule, doc) v.sizes(key, vector<uint64_t>&, max, {lo,
//   hi}, doc)
//
// and describe(v, S&) calls them in the order in which the keys are printed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace mrc::config {

/// A link that is slower sends nothing while anybody waits; its rate rounds to none.
inline constexpr double kLeastGbps = 0.001;

struct Range {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
};

/// A named value of an enumeration.
template <class E>
struct Name {
  std::string_view name;
  E value;
};

/// What a text must be; the empty text always means "not set".
struct TextRule {
  std::string_view what;  ///< "an IPv4 or IPv6 address"
  bool (*ok)(std::string_view);
};

bool is_ip_address(std::string_view text);
bool is_mac_address(std::string_view text);  ///< six hex pairs with colons, unicast, not zero
bool is_hex_bytes(std::string_view text);    ///< 0x + 1..64 digits, spaces and colons between are allowed
bool is_any_text(std::string_view text);     ///< printable, no control characters
bool is_word(std::string_view text);         ///< letters, digits, '-', '_', '.'

inline constexpr TextRule kIpText{"an IPv4 or IPv6 address", is_ip_address};
inline constexpr TextRule kMacText{"a unicast MAC address like 02:00:00:00:00:01", is_mac_address};
inline constexpr TextRule kHexText{"hexadecimal bytes like 0x01000200", is_hex_bytes};
inline constexpr TextRule kAnyText{"printable text", is_any_text};
inline constexpr TextRule kWordText{"a word of letters, digits, '-', '_' and '.'", is_word};

}  // namespace mrc::config
