// SPDX-License-Identifier: BSD-3-Clause
// Addresses as values: what set-up code, exchange and datapath agree on. Bytes in network order.
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace mrc {

/// An Ethernet address. All zero: not known.
struct MacAddress {
  std::array<std::uint8_t, 6> bytes{};

  [[nodiscard]] bool is_zero() const { return bytes == std::array<std::uint8_t, 6>{}; }
  friend bool operator==(const MacAddress&, const MacAddress&) = default;

  /// "02:00:00:00:00:01", lower case.
  [[nodiscard]] std::string to_string() const {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string s;
    for (const std::uint8_t b : bytes) {
      if (!s.empty()) s += ':';
      s += kHex[b >> 4];
      s += kHex[b & 15];
    }
    return s;
  }
  /// Six pairs of hex digits joined by ':' or '-'; nothing else.
  static std::optional<MacAddress> parse(const std::string& text) {
    MacAddress mac;
    if (text.size() != 17) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (i % 3 == 2) {
        if (c != ':' && c != '-') return std::nullopt;
        continue;
      }
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return std::nullopt;
      mac.bytes[i / 3] = static_cast<std::uint8_t>(mac.bytes[i / 3] * 16 + digit);
    }
    return mac;
  }
};

/// An IPv4 or IPv6 address. IPv4 lies in the first four bytes, the others are zero.
struct IpAddress {
  std::array<std::uint8_t, 16> bytes{};
  bool v6 = false;

  [[nodiscard]] bool is_zero() const { return bytes == std::array<std::uint8_t, 16>{}; }
  friend bool operator==(const IpAddress&, const IpAddress&) = default;

  /// The usual notation (RFC 5952 for IPv6, as the C library prints it).
  [[nodiscard]] std::string to_string() const {
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), text, sizeof(text));
    return text;
  }
  static std::optional<IpAddress> parse(const std::string& text) {
    IpAddress ip;
    if (inet_pton(AF_INET, text.c_str(), ip.bytes.data()) == 1) return ip;
    ip = IpAddress{};
    ip.v6 = true;
    if (inet_pton(AF_INET6, text.c_str(), ip.bytes.data()) == 1) return ip;
    return std::nullopt;
  }
};

}  // namespace mrc
