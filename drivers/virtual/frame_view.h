// SPDX-License-Identifier: BSD-3-Clause
// Between an mbuf and what the fabric sees of it: the view is read at injection, and what the network did is
// written back at delivery.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cstdint>

#include "base/net.h"
#include "fabric/packet.h"
#include "wire/frame.h"

namespace mrc::virt {

/// The address of a host's port: its number is written in it, so that forwarding needs no table.
MacAddress port_mac(fabric::HostId host, std::uint32_t plane);

/// Reads headers. Immutable; one per pump.
class FrameReader {
 public:
  /// `hosts`: with two, whatever a host sends goes to the other one; with more, the destination MAC must be
  /// a port_mac. decode.dscp tells the classes; unknown numbers are data that is not trimmed.
  FrameReader(const wire::DecodeOptions& decode, std::uint32_t hosts);

  /// The view of a frame sent by `from`. Frames that are not MRC get kind kOther. False: no destination (a
  /// broadcast among more than two hosts, a MAC of nobody).
  bool read(rte_mbuf* m, fabric::HostId from, fabric::Packet& out) const;

 private:
  bool find_destination(const std::uint8_t* frame, fabric::HostId from, fabric::Packet& out) const;

  wire::DecodeOptions decode_;
  std::uint32_t hosts_;
  std::array<wire::DscpClass, 64> class_of_{};
};

/// What was done to a packet, applied to its bytes: cut, DSCP, CE, corruption, shifted uSIDs and outer hop
/// limit. `dscp` numbers the trimmed classes. False: the frame cannot be changed in place (shared or
/// external) and `pool` had no mbuf for a copy; m is untouched then. `m` may be replaced by the copy, the
/// original is freed.
bool write_back(const fabric::Packet& p, const wire::DscpMap& dscp, rte_mempool* pool, rte_mbuf*& m);

/// Whether write_back has anything to do.
inline bool is_changed(const fabric::Packet& p) {
  return p.ce || p.corrupted || p.srv6 || p.trimmed();
}

}  // namespace mrc::virt
