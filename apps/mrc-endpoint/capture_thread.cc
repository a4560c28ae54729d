// SPDX-License-Identifier: BSD-3-Clause
#include "capture_thread.h"

#include <chrono>
#include <span>

#include "nic/clock.h"
#include "wire/drop_reason.h"

namespace mrc::endpoint {
namespace {

constexpr std::size_t kBatch = nic::CaptureRing::kMaxPoll;
constexpr std::chrono::milliseconds kNap{1};

}  // namespace

Result<std::unique_ptr<CaptureThread>> CaptureThread::start(nic::Nic& nic, const std::string& path,
                                                            const std::vector<std::string>& names,
                                                            bool drops_only) {
  std::vector<report::CaptureInterface> interfaces;
  for (const std::string& name : names) {
    interfaces.push_back({name, report::kLinkEthernet, nic.config().capture_snap_bytes});
  }
  Result<report::CaptureWriter> writer = report::CaptureWriter::create(path, interfaces, "mrc-endpoint");
  if (!writer) return writer.error();
  std::unique_ptr<CaptureThread> t(new CaptureThread(nic, *std::move(writer), path, drops_only));
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  t->epoch_offset_ns_ =
      std::chrono::duration_cast<std::chrono::nanoseconds>(wall).count() - nic::TscClock().now().ns;
  t->batch_.resize(kBatch);
  t->thread_ = std::thread([p = t.get()] { p->loop(); });
  return t;
}

std::size_t CaptureThread::drain() {
  std::size_t all = 0;
  for (unsigned w = 0; w < nic_.workers(); ++w) {
    nic::CaptureRing* ring = nic_.capture(w);
    const std::size_t n = ring == nullptr ? 0 : ring->poll(batch_);
    for (std::size_t i = 0; i < n; ++i) {
      const nic::CaptureRecord& r = batch_[i];
      const bool dropped = r.drop != wire::DropReason::kNone;
      if (drops_only_ && !dropped) continue;
      report::CaptureRecord out;
      out.interface_id = r.plane;
      out.time_ns = static_cast<std::uint64_t>(r.at.ns + epoch_offset_ns_);
      out.direction = r.outbound ? report::Direction::kOutbound : report::Direction::kInbound;
      out.segments = std::span(&r.bytes, 1);
      out.original_bytes = r.frame_bytes;
      const std::string comment =
          dropped ? "drop: " + std::string(wire::kDropReasonNames[static_cast<std::size_t>(r.drop)])
                  : std::string();
      out.comment = comment;
      writer_.write(out);
    }
    all += n;
  }
  return all;
}

void CaptureThread::loop() {
  while (!stop_.load()) {
    if (drain() == 0) std::this_thread::sleep_for(kNap);
  }
  while (drain() != 0) {
  }
}

Result<void> CaptureThread::finish() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
  return writer_.close();
}

CaptureThread::~CaptureThread() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
}

}  // namespace mrc::endpoint
