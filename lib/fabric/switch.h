// SPDX-License-Identifier: BSD-3-Clause
// A switch: which link a packet takes next. Tables are static, as in the fabrics MRC is made for: a dead link
// is not routed around here, that is the endpoint's work.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/packet.h"
#include "fabric/topology.h"

namespace mrc::fabric {

/// How a switch chooses among equal links when the packet is not source-routed.
enum class Forwarding : std::uint8_t {
  kEcmp,        ///< hash of flow and entropy with the switch's salt
  kModulo,      ///< UDP source port modulo the number of links: paths that a person can predict
  kStructured,  ///< each hop takes its own field of the 32-bit EV (STEV), ECMP where it has none
};

/// A field of the 32-bit structured EV.
struct EvField {
  std::uint8_t shift = 0;
  std::uint8_t width = 0;  ///< 0: no field for this hop
};
inline constexpr std::size_t kMaxEvFields = 8;

struct ForwardingConfig {
  Forwarding mode = Forwarding::kEcmp;
  std::array<EvField, kMaxEvFields> fields{};  ///< by number of switches passed before
  bool low_half_in_sport = false;              ///< C7 variant A; default B: the source port is the high half
};

/// The 32-bit EV as the responder reflects it (C7).
constexpr std::uint32_t entropy_of(const Packet& p, bool low_half_in_sport) {
  return low_half_in_sport ? std::uint32_t{p.label} << 16 | p.sport : std::uint32_t{p.sport} << 16 | p.label;
}

/// Forwarding state of one switch, compiled from its SwitchSpec. Read-only but for black_hole.
class Switch {
 public:
  Switch(const SwitchSpec& spec, std::uint64_t salt);

  /// The link to take, or kNil when no table entry leads on. Shifts the uSIDs of a source-routed packet
  /// (RFC 9800: End and
  /// End.X with the NEXT-C-SID flavour).
  [[nodiscard]] LinkId route(Packet& packet, const ForwardingConfig& config) const;

  bool black_hole = false;

 private:
  struct Group {
    std::uint32_t offset = 0;
    std::uint32_t count = 0;
  };
  struct UsidEntry {
    std::uint64_t prefix48 = 0;
    Group group;
  };
  Group add_group(const LinkGroup& links);
  std::vector<UsidEntry> compile(std::span<const UsidRoute> routes);
  static const UsidEntry* find(const std::vector<UsidEntry>& table, std::uint64_t prefix48);
  [[nodiscard]] LinkId route_usid(Packet& packet, const ForwardingConfig& config) const;
  [[nodiscard]] LinkId choose(Group group, const Packet& packet, const ForwardingConfig& config) const;
  [[nodiscard]] std::uint32_t hash(const Packet& packet) const;

  std::vector<LinkId> links_;
  std::vector<Group> down_;
  Group up_;
  HostId first_host_;
  std::uint32_t hosts_per_down_;
  std::uint64_t salt_;
  std::uint64_t usid48_;
  std::vector<UsidEntry> usid_routes_;
  std::vector<UsidEntry> usid_adjacencies_;
};

}  // namespace mrc::fabric
