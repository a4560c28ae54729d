// SPDX-License-Identifier: BSD-3-Clause
// The QPs of one run with their memory: created from the configuration, described to the peer, connected to
// the peer's.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "exchange_messages.h"
#include "lane.h"
#include "nic/nic.h"

namespace mrc::endpoint {

/// Page-aligned anonymous memory. Move-only.
class Buffer {
 public:
  Buffer() = default;
  static Result<Buffer> create(std::uint64_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  [[nodiscard]] unsigned char* data() const { return data_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  unsigned char* data_ = nullptr;
  std::uint64_t size_ = 0;
};

struct QpEnd {
  std::uint32_t qpn = 0;
  std::uint32_t first_psn = 0;
  unsigned worker = 0;
  unsigned char* source = nullptr;  ///< null: this end does not send
  unsigned char* target = nullptr;  ///< null: this end does not receive
  std::uint32_t peer_rkey = 0;
  std::uint64_t peer_target_va = 0;
};

struct QpSetConfig {
  std::uint32_t qps = 1;
  std::uint64_t region_bytes = 64;
  bool sends = true;
  bool receives = true;
  double rate_bps = 0;  ///< config::rate_of_planes
  Time now;
};

/// Thread rule: the control thread of the Nic.
class QpSet {
 public:
  /// What a QP with these settings takes of memory beside its messages.
  static std::uint64_t bytes_of_qp(const config::EndpointConfig& config,
                                   const std::shared_ptr<const path::EvTable>& evs);
  /// `lanes`: one a worker.
  static Result<std::unique_ptr<QpSet>> create(const config::EndpointConfig& config, nic::Nic& nic,
                                               std::vector<Lane>& lanes,
                                               std::shared_ptr<const path::EvTable> evs,
                                               const QpSetConfig& set, std::uint64_t seed);
  ~QpSet();
  QpSet(const QpSet&) = delete;
  QpSet& operator=(const QpSet&) = delete;

  /// Our side of the offer, the workload apart.
  [[nodiscard]] Offer describe() const;
  /// All QPs to RTS. The peer's offer was checked.
  Result<void> connect(const Offer& peer);

  [[nodiscard]] std::size_t size() const { return qps_.size(); }
  [[nodiscard]] QpEnd& operator[](std::size_t i) { return qps_[i]; }
  [[nodiscard]] const QpEnd& operator[](std::size_t i) const { return qps_[i]; }
  [[nodiscard]] std::uint32_t source_lkey() const { return source_keys_.lkey; }
  [[nodiscard]] const path::EvTable& evs() const { return *evs_; }
  [[nodiscard]] const std::shared_ptr<const path::EvTable>& shared_evs() const { return evs_; }
  [[nodiscard]] const transport::QpAttr& negotiated() const { return negotiated_; }
  [[nodiscard]] std::string_view cc_mode() const { return config::name_of(config_.cc.mode); }

 private:
  QpSet(const config::EndpointConfig& config, nic::Nic& nic) : config_(config), nic_(nic) {}
  Result<void> take_memory(const QpSetConfig& set);
  Result<void> create_qps(std::vector<Lane>& lanes, const QpSetConfig& set, std::uint64_t seed);

  const config::EndpointConfig& config_;
  nic::Nic& nic_;
  std::shared_ptr<const path::EvTable> evs_;
  Buffer source_, target_;
  nic::MemoryKeys source_keys_, target_keys_;
  std::uint64_t region_bytes_ = 0;
  std::vector<QpEnd> qps_;
  transport::QpAttr negotiated_;
};

}  // namespace mrc::endpoint
