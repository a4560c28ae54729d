// SPDX-License-Identifier: BSD-3-Clause
// What a worker and its Nic remember of peers outside of QPs (D19): EV Probes under way and the state of
// ports.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "nic/qp_home.h"
#include "path/ev_table.h"
#include "transport/port_status.h"
#include "wire/header_template.h"

namespace mrc::nic {

/// EV Probes of a worker's QPs under way (D19). The id on the wire is the worker and a number of its own, so
/// that whoever receives the answer knows whose it is; a QP numbers its probes by itself.
class EvProbeTable {
 public:
  static constexpr unsigned kNumberBits = 12;
  static constexpr std::size_t kSlots = 1024;
  struct Probe {
    std::uint32_t qpn = 0;
    std::uint16_t of_qp = 0;
    std::uint16_t wire_id = 0;
    bool open = false;
  };
  EvProbeTable() : probes_(kSlots) {}
  static unsigned worker_of(std::uint16_t wire_id) { return wire_id >> kNumberBits; }
  std::uint16_t begin(unsigned worker, std::uint32_t qpn, std::uint16_t of_qp) {
    const unsigned number = next_++ & ((1U << kNumberBits) - 1U);
    const auto wire_id = static_cast<std::uint16_t>(worker << kNumberBits | number);
    probes_[number % kSlots] = {qpn, of_qp, wire_id, true};
    return wire_id;
  }
  /// Each is answered once.
  bool answered(std::uint16_t wire_id, Probe& out) {
    Probe& probe = probes_[wire_id % kSlots];
    if (!probe.open || probe.wire_id != wire_id) return false;
    probe.open = false;
    out = probe;
    return true;
  }

 private:
  std::vector<Probe> probes_;
  unsigned next_ = 0;
};

/// A peer as one worker speaks to it outside of QPs: what it tells of our ports (D19). It goes as the data of
/// one of its QPs do, by whose addresses, EVs and denylist.
struct PeerLink {
  PeerIps ips{};              ///< who it is
  QpHome* speaker = nullptr;  ///< of this worker; one that is routed by segments when there is any
  transport::PortReport report;
  std::size_t next_ev = 0;
};

/// What a peer told of its ports, to any worker.
struct PeerEntry {
  PeerIps ips{};
  transport::PeerPorts ports;
  std::uint32_t qps = 0;  ///< of all workers; without any nobody knows whether it is still the same peer
};

/// A peer on its way to its worker: one of each, taken over where the peer is not known yet.
struct NewPeer {
  PeerIps ips{};
  std::list<PeerLink> link;
  std::list<PeerEntry> entry;
};

}  // namespace mrc::nic
