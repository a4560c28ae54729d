// SPDX-License-Identifier: BSD-3-Clause
// Writes pcapng: nanoseconds, an interface a plane, direction, and a comment a packet (why it was dropped).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/capture_types.h"

namespace mrc::report {

/// A packet to be recorded. `segments` in order; original_bytes 0: the sum of their sizes.
struct CaptureRecord {
  std::uint32_t interface_id = 0;
  std::uint64_t time_ns = 0;  ///< since 1970
  Direction direction = Direction::kUnknown;
  std::span<const std::span<const std::uint8_t>> segments;
  std::uint32_t original_bytes = 0;
  std::string_view comment;  ///< e.g. "drop: icrc"; at most 1024 bytes are kept
};

/// Whole blocks only: packets gather in a buffer taken at construction and go to the file in large writes.
/// When one fails (disk full), the file is cut back to its last whole block, the error is kept for close(),
/// and every later write is refused and counted. One thread.
class CaptureWriter {
 public:
  /// Creates or truncates `path`. Errors: the file, no interface.
  static Result<CaptureWriter> create(const std::string& path, std::span<const CaptureInterface> interfaces,
                                      std::string_view application);
  CaptureWriter(CaptureWriter&& other) noexcept;
  CaptureWriter& operator=(CaptureWriter&& other) noexcept;
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;
  /// Closes; an error nobody asked for is lost here, so call close().
  ~CaptureWriter();

  /// False: refused. Longer packets are cut to the interface's snap length.
  bool write(const CaptureRecord& record);
  bool write(std::uint32_t interface_id, std::uint64_t time_ns, Direction direction,
             std::span<const std::uint8_t> packet, std::string_view comment = {});

  /// Everything so far is in the file when this returns success.
  Result<void> flush();
  /// flush, then close. The first error of the writer's life.
  Result<void> close();

  /// Accepted; after a failure: in the file.
  [[nodiscard]] std::uint64_t packets() const { return packets_; }
  /// Refused, or accepted and lost by a failed write.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  CaptureWriter() = default;
  void put(const void* bytes, std::size_t n);
  void put_u16(std::uint16_t v) { put(&v, sizeof v); }
  void put_u32(std::uint32_t v) { put(&v, sizeof v); }
  void put_option(std::uint16_t code, const void* value, std::size_t n);
  void pad();
  void put_section(std::string_view application);
  void put_interface(const CaptureInterface& interface);
  void put_packet(const CaptureRecord& record, std::uint32_t captured, std::uint32_t original,
                  std::string_view comment, std::uint32_t block_bytes);
  void fail(const std::string& what, int error);

  int fd_ = -1;
  std::string path_;
  std::vector<std::uint8_t> buffer_;  ///< whole blocks, between writes
  std::vector<std::uint32_t> snap_bytes_;
  std::uint64_t good_bytes_ = 0;  ///< in the file, whole blocks
  std::uint64_t packets_ = 0;
  std::uint64_t buffered_packets_ = 0;  ///< of packets_, not yet in the file
  std::uint64_t lost_ = 0;
  std::string error_;
};

}  // namespace mrc::report
