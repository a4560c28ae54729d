// SPDX-License-Identifier: BSD-3-Clause
// What the requestor knows of each packet it may still have to send again (D1): 16 bytes and three bits a
// PSN.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>

#include "base/time.h"
#include "path/ev_set.h"
#include "transport/bit_ring.h"
#include "transport/seq.h"
#include "transport/types.h"
#include "wire/sizes.h"

namespace mrc::transport {

/// The transmissions of one PSN (D1): the last one in full, of the one before its EV and its timestamp, that
/// is the time modulo 8.39 ms. Time is kept modulo 2^48 ns (3.2 days), more than any interval(k).
class PsnRecord {
 public:
  void begin(Time now, path::EvIndex ev, std::uint32_t nominal_bytes, std::uint32_t retry_count) {
    set_time(now, Tick{});
    ev_ = ev;
    prev_ev_ = path::kNoEv;
    nominal_ = static_cast<std::uint16_t>(nominal_bytes);
    times_ = 1;
    k_cause_ = static_cast<std::uint8_t>(cap_k(retry_count));
  }
  void again(Time now, path::EvIndex ev, std::uint32_t retry_count) {
    if ((nominal_ & kHeld) == 0) shift();
    nominal_ = static_cast<std::uint16_t>(nominal_ & ~(kHeld | kReported));
    set_time(now, prev_tick());
    ev_ = ev;
    if (transmissions() < kMostCounted) ++times_;
    k_cause_ = static_cast<std::uint8_t>((k_cause_ & 0xE0U) | cap_k(retry_count));
  }

  /// The transmission is given up and the next one waits (D11): the time is `until` from now on.
  void hold(Time until) {
    shift();
    nominal_ = static_cast<std::uint16_t>(nominal_ | kHeld);
    set_time(until, prev_tick());
  }

  /// When the last transmission was handed over; when held: until when.
  [[nodiscard]] Time sent_at(Time now) const {
    const std::uint64_t then = time_tick_ >> 16;
    const auto age = static_cast<std::int64_t>((static_cast<std::uint64_t>(now.ns) - then) << 16) >> 16;
    return {now.ns - age};
  }
  [[nodiscard]] Tick tick() const { return tick_of(Time{static_cast<std::int64_t>(time_tick_ >> 16)}); }
  [[nodiscard]] Tick prev_tick() const { return Tick{static_cast<std::uint32_t>(time_tick_ & 0xFFFF)}; }
  [[nodiscard]] path::EvIndex ev() const { return ev_; }
  [[nodiscard]] path::EvIndex prev_ev() const { return prev_ev_; }
  [[nodiscard]] std::uint32_t nominal_bytes() const { return nominal_ & kSizeMask; }
  /// Up to 15, then still 15.
  [[nodiscard]] unsigned transmissions() const { return times_ & 0xFU; }
  [[nodiscard]] unsigned retry_count() const { return k_cause_ & 0x1FU; }
  [[nodiscard]] RtxCause cause() const { return static_cast<RtxCause>(k_cause_ >> 5); }
  /// Refusals for want of resources in a row (D11), up to 15, then still 15.
  [[nodiscard]] unsigned resource_nacks() const { return times_ >> 4U; }
  void set_cause(RtxCause cause) {
    const unsigned in_row =
        cause == RtxCause::kNackResource ? std::min(resource_nacks() + 1, kMostCounted) : 0;
    times_ = static_cast<std::uint8_t>(in_row << 4U | transmissions());
    k_cause_ = static_cast<std::uint8_t>((k_cause_ & 0x1FU) | (static_cast<unsigned>(cause) << 5));
  }

  /// A SACK has told of this transmission: its mark and RTT count once (D6: a SACK twice equals once).
  [[nodiscard]] bool reported(bool previous) const {
    return (nominal_ & (previous ? kPrevReported : kReported)) != 0;
  }
  void set_reported(bool previous) {
    nominal_ = static_cast<std::uint16_t>(nominal_ | (previous ? kPrevReported : kReported));
  }

 private:
  static constexpr unsigned kMostCounted = 15;
  static constexpr unsigned kSizeMask = 0x1FFF;  // 13 bits
  static constexpr unsigned kReported = 0x2000;
  static constexpr unsigned kPrevReported = 0x4000;
  static constexpr std::uint32_t cap_k(std::uint32_t k) { return k < 31 ? k : 31; }
  static constexpr unsigned kHeld = 0x8000;
  void shift() {
    time_tick_ = (time_tick_ & ~std::uint64_t{0xFFFF}) | tick().value();
    prev_ev_ = ev_;
    nominal_ = static_cast<std::uint16_t>((nominal_ & (kSizeMask | kReported)) |
                                          ((nominal_ & kReported) != 0 ? kPrevReported : 0));
  }
  void set_time(Time now, Tick previous) {
    time_tick_ = static_cast<std::uint64_t>(now.ns) << 16 | previous.value();
  }

  std::uint64_t time_tick_ = 0;  // sent, ns modulo 2^48, above the tick of the previous transmission
  path::EvIndex ev_ = path::kNoEv;
  path::EvIndex prev_ev_ = path::kNoEv;
  std::uint16_t nominal_ = 0;
  std::uint8_t times_ = 0;  // transmissions (4 bits), below resource NACKs in a row (4 bits)
  std::uint8_t k_cause_ =
      0;  // retry count at send (5 bits; interval(31) is already capped), why it is sent again
};
static_assert(sizeof(PsnRecord) == 16);
static_assert(wire::write_nominal_bytes(wire::Opcode::kWriteLastImm, true, kMaxPmtu) <= 0x1FFF,
              "nominal size must fit its 13 bits");
static_assert(kRtxCauses <= 8, "a cause has three bits");

/// The states of D1 as one bit each: SENT (charged), RTX (given up, queued), HELD (given up, waits for D11's
/// delay). A packet below next with none of them is RCVD. Records of received packets stay readable until
/// their slot is reused, so that a late SACK still finds its trigger (D12).
class PsnWindow {
 public:
  explicit PsnWindow(std::uint32_t window_pkts)
      : mask_(std::bit_ceil(window_pkts) - 1),
        records_(std::make_unique<PsnRecord[]>(mask_ + 1)),
        sent(window_pkts),
        rtx(window_pkts),
        held(window_pkts) {}

  [[nodiscard]] PsnRecord& operator[](Seq s) { return records_[s & mask_]; }
  [[nodiscard]] const PsnRecord& operator[](Seq s) const { return records_[s & mask_]; }
  /// Whether the record of `s` still is that of `s`, when `next` is the next new packet.
  [[nodiscard]] bool has_record(Seq s, Seq first, Seq next) const {
    return s >= first && s < next && s + mask_ + 1 >= next;
  }
  void reset() {
    sent.reset();
    rtx.reset();
    held.reset();
  }
  [[nodiscard]] std::size_t bytes() const {
    return (mask_ + std::size_t{1}) * sizeof(PsnRecord) + 3 * sent.bytes();
  }

 private:
  std::uint32_t mask_;
  std::unique_ptr<PsnRecord[]> records_;

 public:
  BitRing sent;
  BitRing rtx;
  BitRing held;
};

}  // namespace mrc::transport
