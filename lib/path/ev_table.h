// SPDX-License-Identifier: BSD-3-Clause
// The immutable part of an EV profile: expanded values and their planes. QPs share one table; states are per
// QP (C40).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "wire/types.h"

namespace mrc::path {

/// An EV by its place in the table.
using EvIndex = std::uint16_t;
inline constexpr EvIndex kNoEv = 0xFFFF;

/// How an EV is carried (MRC 9.1 - 9.3.5; section 5.1). kSrv6Srh is SRv6 with a second carrier in an SRH.
enum class EvFormat : std::uint8_t { kUdp, kStev, kSrv6, kSrv6Srh };

/// Whether packets carry the EV in a header of their own around the packet.
constexpr bool is_srv6(EvFormat format) {
  return format == EvFormat::kSrv6 || format == EvFormat::kSrv6Srh;
}

/// Where the halves of a 32-bit EV go (C7). One switch for placement and for reflection.
using EvOrder = wire::EntropyOrder;

/// An expanded EV, left-aligned, zero-padded: 2 bytes (UDP), 4 (STEV), 16 (SRv6), 32 (SRv6 + SRH).
using EvValue = std::array<std::uint8_t, 32>;

/// Bytes of EvValue that a format carries: 2, 4, 16 or 32.
[[nodiscard]] std::size_t width_bytes(EvFormat format);
[[nodiscard]] const char* to_string(EvFormat format);

struct EvEntry {
  EvValue value{};
  std::uint8_t port = 0;         ///< plane, from 0 (the API's port less one); kMaxPlanes at most
  std::uint16_t udp_sport = 0;   ///< what goes out in the UDP source port
  std::uint16_t flow_label = 0;  ///< low 16 bits of the (inner) IPv6 flow label; 0 over IPv4
  std::uint32_t entropy = 0;     ///< what the responder will reflect for it (3.5)
};

/// Built once, then read by any thread. Entry i is EV index i everywhere (TxDesc, counters, events).
class EvTable {
 public:
  /// Computes sport, flow label and entropy of every value. SRv6 formats put the EV index there (C36).
  /// `ipv6` tells whether the (inner) packet has a flow label.
  static Result<EvTable> create(EvFormat format, EvOrder order, bool ipv6, std::span<const EvValue> values,
                                std::span<const std::uint8_t> ports);

  [[nodiscard]] EvFormat format() const { return format_; }
  [[nodiscard]] EvOrder order() const { return order_; }
  [[nodiscard]] std::span<const EvEntry> entries() const { return entries_; }
  [[nodiscard]] const EvEntry& operator[](std::size_t i) const { return entries_[i]; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  /// Number of planes: highest port in use + 1.
  [[nodiscard]] std::size_t planes() const { return planes_; }
  /// The one EV on `port` with this reflected entropy, or -1 when none or several have it (D12). Any port:
  /// port = -1.
  [[nodiscard]] int find_unique(std::uint32_t entropy, int port = -1) const;

 private:
  EvTable() = default;
  EvFormat format_ = EvFormat::kUdp;
  EvOrder order_ = EvOrder::kB;
  std::size_t planes_ = 0;
  std::vector<EvEntry> entries_;
  std::vector<std::uint32_t> by_entropy_;  ///< EV indices sorted by entropy
};

}  // namespace mrc::path
