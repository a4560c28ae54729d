// SPDX-License-Identifier: BSD-3-Clause
// Words of others (peers, captures, files, arguments) on their way to a person: what is no visible character
// becomes an escape, so that it can neither steer a terminal nor pass for a line of ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mrc {
namespace printable_detail {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  ///< 0: no UTF-8 starts here
};

/// Strict: no overlong forms, no surrogates, nothing above U+10FFFF.
constexpr CodePoint decode(std::string_view s) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(s[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t n = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xC2 || first > 0xF4 || s.size() < n) return {};
  std::uint32_t v = first & (0x7FU >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    v = v << 6 | (byte(i) & 0x3FU);
  }
  if (v < kSmallest[n] || v > 0x10FFFF || (v >= 0xD800 && v <= 0xDFFF)) return {};
  return {v, n};
}

/// Controls of C0 and C1, and what changes the direction of text, breaks lines or cannot be seen.
constexpr bool is_hidden(std::uint32_t c) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kHidden[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},      {0x61C, 0x61C},
                               {0x180E, 0x180E}, {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F},
                               {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xE0000, 0xE0FFF}};
  for (const Range& r : kHidden) {
    if (c >= r.first && c <= r.last) return true;
  }
  return false;
}

inline void append_hex(std::string& out, std::uint32_t v, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[v >> shift & 15];
}

inline bool is_plain(std::string_view s, bool keep_newlines) {
  for (const char c : s) {
    if ((c < 0x20 || c > 0x7E) && !(keep_newlines && c == '\n')) return false;
  }
  return true;
}

inline std::string escape(std::string_view s, bool keep_newlines) {
  if (is_plain(s, keep_newlines)) return std::string(s);
  std::string out;
  out.reserve(s.size());
  while (!s.empty()) {
    const CodePoint c = decode(s);
    const std::size_t n = c.bytes == 0 ? 1 : c.bytes;
    if (c.bytes == 0) {
      out += "\\x";
      append_hex(out, static_cast<std::uint8_t>(s[0]), 2);
    } else if (!is_hidden(c.value) || (keep_newlines && c.value == '\n')) {
      out += s.substr(0, n);
    } else if (c.value == '\n' || c.value == '\t' || c.value == '\r') {
      out += c.value == '\n' ? "\\n" : c.value == '\t' ? "\\t" : "\\r";
    } else if (c.value < 0x80) {
      out += "\\x";
      append_hex(out, c.value, 2);
    } else {
      out += c.value > 0xFFFF ? "\\U" : "\\u";
      append_hex(out, c.value, c.value > 0xFFFF ? 8 : 4);
    }
    s.remove_prefix(n);
  }
  return out;
}

}  // namespace printable_detail

/// One line: newlines are escaped as well. For words of others where they enter a message.
inline std::string printable(std::string_view s) {
  return printable_detail::escape(s, false);
}

/// The beginning of a word that may be long; ".." stands for the rest.
inline std::string printable_excerpt(std::string_view s, std::size_t most_bytes = 60) {
  return printable(s.substr(0, most_bytes)) + (s.size() > most_bytes ? ".." : "");
}

/// Newlines stay. For a finished text at its way out.
inline std::string printable_lines(std::string_view s) {
  return printable_detail::escape(s, true);
}

}  // namespace mrc
