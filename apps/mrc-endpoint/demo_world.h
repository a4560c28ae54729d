// SPDX-License-Identifier: BSD-3-Clause
// What the demo runs in: the virtual fabric, a Nic at each side, one QP between them with the product's
// default settings.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "nic/clock.h"
#include "nic/nic.h"
#include "virtual/virtual_fabric.h"

namespace mrc::endpoint {

struct DemoWorldConfig {
  std::uint64_t seed = 1;
  std::uint32_t planes = 4;
  std::uint32_t paths = 8;
  Duration delay{};      ///< one way
  double path_gbps = 0;  ///< 0: no limit
  double line_gbps = 0;  ///< of all planes together, as NSCC is told; 0: what the paths have
  config::CcMode cc = config::CcMode::kNscc;
  std::uint8_t timeout = 0;    ///< exponent of the ACK timer; 0: the product's
  bool ev_order_only = false;  ///< the rules that find a dead path are off, but for the order on one EV (D8)
  Duration poll_step{};        ///< virtual time, so much a poll(); zero: the machine's clock
  std::size_t memory_bytes = 0;  ///< of the source at host 0 and of the target at host 1
};

/// Thread rule: one thread. Host 0 sends, host 1 receives.
class DemoWorld {
 public:
  static Result<std::unique_ptr<DemoWorld>> create(const DemoWorldConfig& config);
  ~DemoWorld();
  DemoWorld(const DemoWorld&) = delete;
  DemoWorld& operator=(const DemoWorld&) = delete;

  /// One iteration of both workers and of the fabric, at the time of the clock.
  void poll();
  [[nodiscard]] Time now() const { return is_virtual() ? virtual_now_ : clock_.now(); }

  [[nodiscard]] virt::VirtualFabric& net() { return *net_; }
  [[nodiscard]] nic::Nic& nic(unsigned host) { return *nics_[host]; }
  [[nodiscard]] nic::Worker& worker(unsigned host) { return nics_[host]->worker(0); }
  [[nodiscard]] std::uint32_t qpn(unsigned host) const { return qpns_[host]; }
  [[nodiscard]] const path::EvTable& evs() const { return *evs_; }
  [[nodiscard]] std::uint32_t path_of(path::EvIndex ev) const {
    return (*evs_)[ev].udp_sport % config_.paths;
  }
  [[nodiscard]] std::vector<path::EvIndex> evs_on(std::uint32_t plane, std::uint32_t path) const;
  [[nodiscard]] unsigned char* source() { return source_.data(); }
  [[nodiscard]] unsigned char* target() { return target_.data(); }
  [[nodiscard]] const nic::MemoryKeys& source_keys() const { return source_keys_; }
  [[nodiscard]] const nic::MemoryKeys& target_keys() const { return target_keys_; }
  /// Ends everything under way. True: every mbuf is back and the fabric's sum holds.
  bool settle();

 private:
  explicit DemoWorld(const DemoWorldConfig& config);
  [[nodiscard]] bool is_virtual() const { return config_.poll_step.ns != 0; }
  void poll_worker(unsigned host);
  Result<void> open();
  [[nodiscard]] virt::VirtualConfig fabric_config() const;
  Result<void> open_nic(unsigned host, const config::EndpointConfig& c);
  Result<void> connect(const config::EndpointConfig& c);

  const DemoWorldConfig config_;
  nic::TscClock clock_;
  Time virtual_now_{1'000'000'000};
  std::vector<unsigned char> source_, target_;
  std::unique_ptr<virt::VirtualFabric> net_;  ///< outlives the Nics
  std::array<std::unique_ptr<nic::Nic>, 2> nics_;
  std::array<std::uint32_t, 2> qpns_{};
  std::shared_ptr<const path::EvTable> evs_;
  nic::MemoryKeys source_keys_, target_keys_;
};

}  // namespace mrc::endpoint
