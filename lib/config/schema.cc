// SPDX-License-Identifier: BSD-3-Clause
#include "config/schema.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace mrc::config {
namespace {

bool is_hex(char c) {
  return std::isxdigit(static_cast<unsigned char>(c)) != 0;
}

int hex_value(char c) {
  if (c <= '9') return c - '0';
  return std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
}

}  // namespace

bool is_ip_address(std::string_view text) {
  const std::string copy(text);
  std::array<unsigned char, sizeof(in6_addr)> out{};
  return inet_pton(AF_INET, copy.c_str(), out.data()) == 1 ||
         inet_pton(AF_INET6, copy.c_str(), out.data()) == 1;
}

bool is_mac_address(std::string_view text) {
  if (text.size() != 17) return false;
  bool zero = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 3 == 2 ? text[i] != ':' : !is_hex(text[i])) return false;
    zero = zero && (i % 3 == 2 || text[i] == '0');
  }
  return !zero && (hex_value(text[1]) & 1) == 0;
}

bool is_hex_bytes(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return false;
  std::size_t digits = 0;
  for (const char c : text.substr(2)) {
    if (c == ' ' || c == ':') continue;
    if (!is_hex(c)) return false;
    ++digits;
  }
  return digits >= 1 && digits <= 64;
}

bool is_any_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace mrc::config
