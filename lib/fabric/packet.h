// SPDX-License-Identifier: BSD-3-Clause
// What a switch can see of a packet. The bytes stay with their owner: the fabric moves an opaque handle (an
// mbuf, a token of the simulator) and this view, and reports what the network did to it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "wire/types.h"

namespace mrc::fabric {

using HostId = std::uint32_t;
using SwitchId = std::uint32_t;
using LinkId = std::uint32_t;
inline constexpr std::uint32_t kNil = 0xFFFFFFFF;  ///< no link, no switch, no slot

/// What a packet is for, as counters tell it. kOther: not MRC (ARP, ND, anything else on the wire).
enum class Kind : std::uint8_t { kData, kRetransmission, kProbe, kControl, kOther };
inline constexpr std::size_t kKinds = 5;

/// Why a packet ended inside the fabric. One counter each, per link and kind.
enum class DropReason : std::uint8_t {
  kNone,              ///< it did not: delivered or accepted
  kPortDown,          ///< the host's own port is down; the handle stays with the caller
  kLinkDown,          ///< sent into, queued at or flying over a dead link: silence for the sender
  kRandomLoss,        ///< loss probability of the link
  kEvLoss,            ///< loss rule of one entropy value
  kBlackHole,         ///< a switch that eats what it gets while its links stay up
  kQueueFull,         ///< tail drop, data class
  kControlQueueFull,  ///< tail drop, control class (trimmed packets included)
  kNoRoute,           ///< no table entry: unknown host, wrong uSID
  kHopLimit,          ///< more than kMaxHops switches: a loop of uSIDs
  kNoSlot,            ///< the fabric's packet memory is in use up to its limit
};
inline constexpr std::size_t kDropReasons = 11;
inline constexpr std::uint8_t kMaxHops = 64;

[[nodiscard]] const char* name(Kind kind);
[[nodiscard]] const char* name(DropReason reason);

/// An IPv6 address as two numbers, most significant first.
struct Address {
  std::uint64_t hi = 0;
  std::uint64_t lo = 0;
  friend constexpr bool operator==(Address, Address) = default;
};

/// The view of one packet. The owner fills it at injection; what the network changed is read from the outcome
/// and applied to the bytes by the owner: dscp and size_bytes (trimming), ce, hops, usid and segments_left,
/// corrupted.
struct Packet {
  std::uint64_t handle = 0;
  std::uint32_t size_bytes = 0;  ///< what links and queues are charged with
  HostId src_host = 0;           ///< set by inject
  HostId dst_host = 0;           ///< where destination routing sends it
  std::uint32_t flow = 0;        ///< hash of addresses and ports but the entropy: the rest of ECMP's input
  std::uint16_t sport = 0;       ///< UDP source port
  std::uint16_t label = 0;       ///< low 16 bits of the IPv6 flow label, 0 over IPv4
  std::uint32_t psn = 0;         ///< observed only, never used to forward
  std::uint8_t plane = 0;        ///< set by inject
  Kind kind = Kind::kOther;
  wire::DscpClass dscp = wire::DscpClass::kNoTrim;  ///< trimming rewrites it
  std::uint8_t hops = 0;                            ///< switches passed: what the hop limit lost
  bool ect : 1 = false;                             ///< may be marked
  bool ce : 1 = false;                              ///< was marked
  bool corrupted : 1 = false;                       ///< a bit flipped on the way
  bool srv6 : 1 = false;                            ///< forwarded by `usid`, not by dst_host
  std::uint8_t segments_left = 0;                   ///< 1: `segment` is still to come (SRH)
  Address usid;                                     ///< outer destination, shifted on the way
  Address segment;                                  ///< the single segment of the SRH

  [[nodiscard]] bool trimmed() const {
    return dscp == wire::DscpClass::kTrimmed || dscp == wire::DscpClass::kTrimmedLasthop;
  }
};

/// One packet leaving the fabric: delivered (reason kNone) to `host`, or dropped at `link`.
struct Outcome {
  Packet packet;
  Time at;
  LinkId link = kNil;  ///< the last link it was on or was to take
  HostId host = kNil;  ///< kNil for a drop
  DropReason reason = DropReason::kNone;
  bool shared = false;         ///< a duplicate of the same handle is still inside: copy it, do not free it
  LinkId corrupted_at = kNil;  ///< of a corrupted packet: where the bit flipped last, and when
  Time corrupted_when;

  [[nodiscard]] bool delivered() const { return reason == DropReason::kNone; }
};

}  // namespace mrc::fabric
