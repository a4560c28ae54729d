// SPDX-License-Identifier: BSD-3-Clause
// Takes frames from the workers' capture rings and writes them to a pcapng file, on a thread of its own so
// that no write to a disk delays a poll.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "nic/nic.h"
#include "report/capture_writer.h"

namespace mrc::endpoint {

class CaptureThread {
 public:
  /// `names`: of the planes. The Nic outlives the thread.
  static Result<std::unique_ptr<CaptureThread>> start(nic::Nic& nic, const std::string& path,
                                                      const std::vector<std::string>& names, bool drops_only);
  ~CaptureThread();
  CaptureThread(const CaptureThread&) = delete;
  CaptureThread& operator=(const CaptureThread&) = delete;

  /// Ends the thread and closes the file. Errors: what a write said.
  Result<void> finish();
  [[nodiscard]] std::uint64_t packets() const { return writer_.packets(); }
  /// Not in the file because of a failed write. After finish().
  [[nodiscard]] std::uint64_t lost() const { return writer_.lost(); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  CaptureThread(nic::Nic& nic, report::CaptureWriter writer, std::string path, bool drops_only)
      : nic_(nic), writer_(std::move(writer)), path_(std::move(path)), drops_only_(drops_only) {}
  void loop();
  std::size_t drain();

  nic::Nic& nic_;
  report::CaptureWriter writer_;
  const std::string path_;
  const bool drops_only_;
  std::int64_t epoch_offset_ns_ = 0;  ///< Nic time to time since 1970
  std::vector<nic::CaptureRecord> batch_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace mrc::endpoint
