// SPDX-License-Identifier: BSD-3-Clause
// The start-up lines: which port, queue and worker belong together, what is done by software and what by the
// port. Returned, not printed.
#include <rte_ethdev.h>

#include "nic/core.h"

namespace mrc::nic {
namespace {

std::string addresses(const PlanePort& plane) {
  std::string s;
  for (const IpAddress& ip : plane.ips) {
    if (!s.empty()) s += ',';
    s += ip.to_string();
  }
  return s;
}

std::string plane_line(const NicCore& nic, std::size_t p) {
  const PlanePort& plane = nic.config.planes[p];
  rte_eth_dev_info info{};
  const bool known = rte_eth_dev_info_get(plane.dpdk_port, &info) == 0;
  return "plane " + std::to_string(p) + ": port " + std::to_string(plane.dpdk_port) + " " +
         (known ? info.driver_name : "unknown driver") + ", " + plane.mac.to_string() + ", " +
         addresses(plane) + ", " + std::to_string(plane.rx_queues) + " RX and " +
         std::to_string(plane.tx_queues) + " TX queues";
}

std::string steering_line(const NicCore& nic, std::size_t p) {
  const PlanePort& plane = nic.config.planes[p];
  std::string s = "plane " + std::to_string(p) + " steering: ";
  if (nic.config.workers == 1) return s + "one worker, none needed";
  if (plane.rx_queues >= nic.config.workers) {
    s += plane.ips.size() > 1
             ? "one queue and one address a worker; what the port puts elsewhere is handed over"
             : "one queue a worker, one address: hand-over by QPN in software";
    return s;
  }
  return s + std::to_string(plane.rx_queues) + " RX queue(s) for " + std::to_string(nic.config.workers) +
         " workers: hand-over by QPN in software";
}

std::string worker_line(const WorkerCore& w) {
  std::string rx;
  std::string tx;
  for (std::size_t p = 0; p < w.ports.size(); ++p) {
    const WorkerPort& port = w.ports[p];
    const std::string port_name = std::to_string(port.dpdk_port);
    if (port.polls_rx) rx.append(" ").append(port_name).append("/").append(std::to_string(port.rx_queue));
    tx.append(" ").append(port_name);
    if (port.owns_tx) {
      tx.append("/").append(std::to_string(port.tx_queue));
    } else {
      tx.append(" by worker ").append(std::to_string(port.tx_owner));
    }
  }
  return "worker " + std::to_string(w.index) + ": RX port/queue" + (rx.empty() ? " none" : rx) + "; TX" + tx +
         "; QPNs " + std::to_string(make_qpn(w.index, 1, 0)) + " to " +
         std::to_string(make_qpn(w.index, static_cast<std::uint32_t>(w.slots.size()) - 1, 63));
}

const char* idle_name(IdlePolicy p) {
  switch (p) {
    case IdlePolicy::kSpin:
      return "spin";
    case IdlePolicy::kYield:
      return "yield";
    case IdlePolicy::kSleep:
      break;
  }
  return "sleep up to 50 us";
}

}  // namespace

std::vector<std::string> Nic::describe() const {
  const NicCore& nic = *core_;
  std::vector<std::string> lines;
  for (std::size_t p = 0; p < nic.config.planes.size(); ++p) {
    lines.push_back(plane_line(nic, p));
    lines.push_back(steering_line(nic, p));
  }
  for (const auto& w : nic.workers) lines.push_back(worker_line(*w));
  lines.push_back(std::string("ICRC: ") + (nic.config.icrc == IcrcMode::kVerify
                                               ? "made and verified in software (ISA-L)"
                                               : "made in software (ISA-L), NOT verified on receipt"));
  lines.emplace_back("checksums: IPv4 header made and verified in software, UDP 0 as RoCEv2 allows");
  lines.push_back("idle workers: " + std::string(idle_name(nic.config.idle)) + "; capture: " +
                  (nic.config.capture_ring == 0
                       ? "off"
                       : std::to_string(nic.config.capture_snap_bytes) + " bytes a frame"));
  lines.push_back("memory a worker: " + std::to_string(nic.config.payload_mbufs) + " payload mbufs of " +
                  std::to_string(wire::kPayloadOffset + nic.config.max_pmtu + 64) + " bytes, " +
                  std::to_string(nic.config.control_mbufs) + " control mbufs");
  return lines;
}

}  // namespace mrc::nic
