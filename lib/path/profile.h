// SPDX-License-Identifier: BSD-3-Clause
// From the description of an EV profile to its table: modes, field expansion and every check of 5.3.
// Set-up code: allocates, returns errors in words. Names follow mrc_ctl.h (mrc_ctl_ev_field and friends).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "path/ev_table.h"

namespace mrc::path {

/// Where the values come from (5.2).
enum class ProfileMode : std::uint8_t {
  kAuto,       ///< ours: seeded random source ports or 32-bit values; not for SRv6
  kExplicit,   ///< given one by one
  kGenerated,  ///< product of the field ranges, last field fastest (C29)
};

/// One profile field: `width` bits that hold init_val, with the bits of `mask` taken from the EV.
struct EvField {
  std::uint32_t width = 0;     ///< 1..32 bits
  std::uint32_t init_val = 0;  ///< < 2^width
  std::uint32_t min_val = 0;   ///< of the masked bits, compacted
  std::uint32_t max_val = 0;   ///< likewise; min = max = 0 with a mask: no limit (C29)
  std::uint32_t mask = 0;      ///< 0: a constant field
};

/// An entry as the controller gives it: the EV before expansion, and its port counted from 1.
struct ProfileEv {
  EvValue ev{};
  std::uint8_t api_port = 0;  ///< 1..kMaxPlanes; value and port 0: unpopulated
  friend bool operator==(const ProfileEv&, const ProfileEv&) = default;
};

/// All that defines an EV table.
struct EvProfile {
  EvFormat format = EvFormat::kUdp;
  EvOrder order = EvOrder::kB;
  bool ipv6 = true;  ///< the (inner) packet has a flow label
  ProfileMode mode = ProfileMode::kAuto;
  std::vector<std::uint8_t> format_widths;  ///< bits of each format field; empty: the format has no fields
  std::vector<EvField> fields;              ///< at most one per format field; may be empty for EXPLICIT (C34)
  std::vector<ProfileEv> evs;               ///< EXPLICIT: all of them
  std::uint32_t ev_count = 0;               ///< AUTO, GENERATED: how many; EXPLICIT: 0 or evs.size()
  std::uint32_t ev_count_align = 1;         ///< ev_count must be a multiple of this
  std::vector<std::uint8_t> api_ports{1};   ///< AUTO, GENERATED: planes to spread over, counted from 1
  std::uint64_t seed = 1;                   ///< AUTO
};

/// The checks of profile fields against the format (5.3). Empty `fields` pass.
[[nodiscard]] Result<void> check_fields(EvFormat format, std::span<const std::uint8_t> format_widths,
                                        std::span<const EvField> fields);

/// Expands one EV (5.3): field 0 first, masked bits from the EV, highest mask bit first. Refuses bits that no
/// field takes and masked values outside [min_val, max_val]. Precondition: check_fields passed.
[[nodiscard]] Result<EvValue> expand(std::span<const std::uint8_t> format_widths,
                                     std::span<const EvField> fields, const EvValue& ev);

/// EV number `index` of the product of the field ranges, before expansion; the last field counts fastest
/// (C29). Precondition: check_fields passed, index < combinations(fields).
[[nodiscard]] EvValue generated_ev(std::span<const EvField> fields, std::uint64_t index);

/// How many EVs the field ranges give; saturates at 2^63.
[[nodiscard]] std::uint64_t combinations(std::span<const EvField> fields);

/// Checks everything and builds the table. AUTO and GENERATED give every plane an equal share: entry i is on
/// plane api_ports[i % n]. GENERATED gives every plane the same values (planes are alike, each shall offer
/// the fabric's whole range of paths), so ev_count <= combinations x planes.
[[nodiscard]] Result<EvTable> build_table(const EvProfile& profile);

}  // namespace mrc::path
