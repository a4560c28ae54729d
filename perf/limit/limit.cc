// SPDX-License-Identifier: BSD-3-Clause
#include "limit/limit.h"

#include <isa-l/crc.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include <atomic>
#include <cstring>
#include <string>

#include "limit/stopwatch.h"

namespace mrc::perf {
namespace {

constexpr std::uint32_t kPayloadOffset = 256;  // as lib/nic lays its mbufs out
constexpr std::uint32_t kEthernetBytes = 14;   // not covered by the ICRC
constexpr std::uint32_t kMaxBurst = 32;
constexpr int kMaxIdleRounds = 1'000'000;

}  // namespace

Result<std::unique_ptr<Limit>> Limit::create(const LimitConfig& config) {
  auto limit = std::unique_ptr<Limit>(new Limit(config));
  static std::atomic<unsigned> next{0};
  const std::string name = "limit" + std::to_string(next.fetch_add(1));
  const auto room = static_cast<std::uint16_t>(kPayloadOffset + config.payload_bytes + 64);
  limit->pool_ = rte_pktmbuf_pool_create(name.c_str(), config.mbufs, 256, 0, room, SOCKET_ID_ANY);
  if (limit->pool_ == nullptr) return Error{"limit: mbuf pool: " + std::string(rte_strerror(rte_errno))};
  for (std::size_t i = 0; i < limit->header_.size(); ++i) limit->header_[i] = static_cast<std::uint8_t>(i);
  return limit;
}

Limit::~Limit() {
  rte_mempool_free(pool_);
}

std::uint32_t Limit::send(std::size_t plane, std::uint32_t n, Walk& source, std::size_t& at) {
  std::array<rte_mbuf*, kMaxBurst> burst;
  if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(burst.data()), n) != 0) return 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    rte_mbuf* m = burst[i];
    auto* payload = static_cast<std::uint8_t*>(m->buf_addr) + kPayloadOffset;
    std::uint8_t* frame = payload - config_.header_bytes;
    std::memcpy(frame, header_.data(), config_.header_bytes);
    std::uint32_t crc = crc32_gzip_refl(0, frame + kEthernetBytes, config_.header_bytes - kEthernetBytes);
    crc = crc32_gzip_refl(crc, source.base + at, config_.payload_bytes);
    std::memcpy(payload, source.base + at, config_.payload_bytes);
    std::memcpy(payload + config_.payload_bytes, &crc, sizeof(crc));
    m->data_off = static_cast<std::uint16_t>(kPayloadOffset - config_.header_bytes);
    m->data_len = static_cast<std::uint16_t>(config_.header_bytes + config_.payload_bytes + sizeof(crc));
    m->pkt_len = m->data_len;
    m->ol_flags = 0;
    at += config_.payload_bytes;
    if (at + config_.payload_bytes > source.bytes) at = 0;
  }
  std::uint32_t sent = 0;
  while (sent < n) {
    sent += rte_eth_tx_burst(config_.tx_ports[plane], 0, &burst[sent], static_cast<std::uint16_t>(n - sent));
  }
  return sent;
}

// What another user of the ports left in them is not ours to check.
void Limit::discard() {
  std::array<rte_mbuf*, kMaxBurst> burst;
  for (const auto& ports : {config_.tx_ports, config_.rx_ports}) {
    for (const std::uint16_t port : ports) {
      for (std::uint16_t n = kMaxBurst; n != 0;) {
        n = rte_eth_rx_burst(port, 0, burst.data(), kMaxBurst);
        rte_pktmbuf_free_bulk(burst.data(), n);
      }
    }
  }
}

bool Limit::receive(std::size_t plane, Walk& target, std::size_t& at, std::uint64_t& got) {
  std::array<rte_mbuf*, kMaxBurst> burst;
  const std::uint16_t n = rte_eth_rx_burst(config_.rx_ports[plane], 0, burst.data(), kMaxBurst);
  for (std::uint16_t i = 0; i < n; ++i) rte_prefetch0(rte_pktmbuf_mtod(burst[i], void*));
  bool good = true;
  for (std::uint16_t i = 0; i < n; ++i) {
    if (burst[i]->data_len != config_.header_bytes + config_.payload_bytes + 4) {
      good = false;  // none of ours: nothing of it is read
      continue;
    }
    const auto* frame = rte_pktmbuf_mtod(burst[i], const std::uint8_t*);
    const std::uint32_t covered = burst[i]->data_len - kEthernetBytes - 4U;
    std::uint32_t want = 0;
    std::memcpy(&want, frame + burst[i]->data_len - 4, 4);
    good = good && crc32_gzip_refl(0, frame + kEthernetBytes, covered) == want;
    std::memcpy(target.base + at, frame + config_.header_bytes, config_.payload_bytes);
    at += config_.payload_bytes;
    if (at + config_.payload_bytes > target.bytes) at = 0;
  }
  rte_pktmbuf_free_bulk(burst.data(), n);
  got += n;
  return good;
}

double Limit::run(std::uint64_t packets, Walk source, Walk target) {
  const std::size_t planes = config_.tx_ports.size();
  const auto share = static_cast<std::uint32_t>(config_.burst_pkts / planes);
  std::size_t source_at = 0;
  std::size_t target_at = 0;
  std::uint64_t sent = 0;
  std::uint64_t got = 0;
  bool good = share != 0;
  if (!good) return 0;
  discard();
  const Stopwatch watch;
  int idle = 0;  // rounds in which nothing moved: mbufs or packets are gone, and would be waited for for ever
  while ((sent < packets || got < sent) && good && idle < kMaxIdleRounds) {
    const std::uint64_t before = sent + got;
    for (std::size_t p = 0; p < planes && sent < packets; ++p) sent += send(p, share, source, source_at);
    for (std::size_t p = 0; p < planes; ++p) good = receive(p, target, target_at, got) && good;
    idle = sent + got == before ? idle + 1 : 0;
  }
  if (got < sent || sent < packets) return 0;
  const double seconds = watch.seconds();
  return good ? seconds : 0;
}

}  // namespace mrc::perf
