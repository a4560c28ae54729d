// SPDX-License-Identifier: BSD-3-Clause
#include "report/capture_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

namespace mrc::report {
namespace {

constexpr std::size_t kBufferBytes = 1U << 20;
constexpr std::size_t kMaxCommentBytes = 1024;
constexpr std::uint32_t kMaxPacketBytes = 256U << 10;  // pcap's own customary limit
constexpr std::uint32_t kEpbFixedBytes = 32;           // without data and options
constexpr std::uint8_t kNanoseconds = 9;               // if_tsresol: 10^-9 s

constexpr std::uint32_t padded(std::size_t n) {
  return static_cast<std::uint32_t>((n + 3) & ~std::size_t{3});
}
constexpr std::uint32_t option_bytes(std::size_t n) {
  return n == 0 ? 0 : 4 + padded(n);
}

}  // namespace

Result<CaptureWriter> CaptureWriter::create(const std::string& path,
                                            std::span<const CaptureInterface> interfaces,
                                            std::string_view application) {
  if (interfaces.empty()) return Error{path + ": a capture needs at least one interface"};
  CaptureWriter w;
  w.path_ = path;
  w.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (w.fd_ < 0) return Error{path + ": cannot be created: " + std::strerror(errno)};
  w.buffer_.reserve(kBufferBytes + kMaxPacketBytes + 2 * kMaxCommentBytes);
  w.put_section(application);
  for (const CaptureInterface& i : interfaces) w.put_interface(i);
  if (const Result<void> r = w.flush(); !r) return r.error();
  return w;
}

CaptureWriter::CaptureWriter(CaptureWriter&& other) noexcept {
  *this = std::move(other);
}
CaptureWriter& CaptureWriter::operator=(CaptureWriter&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) (void)close();
  fd_ = std::exchange(other.fd_, -1);
  path_ = std::move(other.path_);
  buffer_ = std::move(other.buffer_);
  snap_bytes_ = std::move(other.snap_bytes_);
  good_bytes_ = other.good_bytes_;
  packets_ = other.packets_;
  buffered_packets_ = other.buffered_packets_;
  lost_ = other.lost_;
  error_ = std::move(other.error_);
  return *this;
}
CaptureWriter::~CaptureWriter() {
  if (fd_ >= 0) (void)close();
}

void CaptureWriter::put(const void* bytes, std::size_t n) {
  if (n == 0) return;
  const auto* p = static_cast<const std::uint8_t*>(bytes);
  buffer_.insert(buffer_.end(), p, p + n);
}
void CaptureWriter::pad() {
  buffer_.resize(padded(buffer_.size()));
}
void CaptureWriter::put_option(std::uint16_t code, const void* value, std::size_t n) {
  if (n == 0) return;
  put_u16(code);
  put_u16(static_cast<std::uint16_t>(n));
  put(value, n);
  pad();
}

void CaptureWriter::put_section(std::string_view application) {
  const std::string_view name = application.substr(0, kMaxCommentBytes);
  const std::uint32_t total = 28 + option_bytes(name.size()) + 4;
  put_u32(pcapng::kSectionHeader);
  put_u32(total);
  put_u32(pcapng::kByteOrderMagic);
  put_u16(1);  // version 1.0
  put_u16(0);
  put_u32(0xFFFFFFFF);  // section length: not given
  put_u32(0xFFFFFFFF);
  put_option(pcapng::kOptShbUserAppl, name.data(), name.size());
  put_u32(pcapng::kOptEnd);
  put_u32(total);
  assert(buffer_.size() == total);
}

void CaptureWriter::put_interface(const CaptureInterface& interface) {
  const std::string_view name = std::string_view(interface.name).substr(0, kMaxCommentBytes);
  const std::uint32_t total = 20 + option_bytes(name.size()) + option_bytes(1) + 4;
  put_u32(pcapng::kInterface);
  put_u32(total);
  put_u16(interface.link_type);
  put_u16(0);
  put_u32(interface.snap_bytes);
  put_option(pcapng::kOptIfName, name.data(), name.size());
  put_option(pcapng::kOptIfTsresol, &kNanoseconds, 1);
  put_u32(pcapng::kOptEnd);
  put_u32(total);
  const bool limited = interface.snap_bytes != 0 && interface.snap_bytes < kMaxPacketBytes;
  snap_bytes_.push_back(limited ? interface.snap_bytes : kMaxPacketBytes);
}

bool CaptureWriter::write(const CaptureRecord& record) {
  if (fd_ < 0 || !error_.empty() || record.interface_id >= snap_bytes_.size()) {
    ++lost_;
    return false;
  }
  std::size_t have = 0;
  for (const auto& s : record.segments) have += s.size();
  const auto captured =
      static_cast<std::uint32_t>(std::min<std::size_t>(have, snap_bytes_[record.interface_id]));
  const auto original = static_cast<std::uint32_t>(std::max<std::size_t>(have, record.original_bytes));
  const std::string_view comment = record.comment.substr(0, kMaxCommentBytes);
  const std::uint32_t flags = record.direction == Direction::kUnknown ? 0 : option_bytes(4);
  const std::uint32_t options = flags + option_bytes(comment.size());
  const std::uint32_t block = kEpbFixedBytes + padded(captured) + options + (options == 0 ? 0 : 4);
  if (buffer_.size() + block > kBufferBytes && !flush()) {
    ++lost_;
    return false;
  }
  put_packet(record, captured, original, comment, block);
  ++packets_;
  ++buffered_packets_;
  return true;
}

void CaptureWriter::put_packet(const CaptureRecord& record, std::uint32_t captured, std::uint32_t original,
                               std::string_view comment, std::uint32_t block_bytes) {
  const std::size_t start = buffer_.size();
  put_u32(pcapng::kEnhancedPacket);
  put_u32(block_bytes);
  put_u32(record.interface_id);
  put_u32(static_cast<std::uint32_t>(record.time_ns >> 32));
  put_u32(static_cast<std::uint32_t>(record.time_ns));
  put_u32(captured);
  put_u32(original);
  std::size_t left = captured;
  for (const auto& s : record.segments) {
    const std::size_t n = std::min(left, s.size());
    put(s.data(), n);
    left -= n;
  }
  pad();
  const auto flags = static_cast<std::uint32_t>(record.direction);
  if (flags != 0) put_option(pcapng::kOptEpbFlags, &flags, sizeof flags);
  put_option(pcapng::kOptComment, comment.data(), comment.size());
  if (flags != 0 || !comment.empty()) put_u32(pcapng::kOptEnd);
  put_u32(block_bytes);
  assert(buffer_.size() - start == block_bytes);
  (void)start;
}

bool CaptureWriter::write(std::uint32_t interface_id, std::uint64_t time_ns, Direction direction,
                          std::span<const std::uint8_t> packet, std::string_view comment) {
  const std::span<const std::uint8_t> segments[] = {packet};
  return write(CaptureRecord{interface_id, time_ns, direction, segments, 0, comment});
}

void CaptureWriter::fail(const std::string& what, int error) {
  if (!error_.empty()) return;
  error_ = path_ + ": " + what + " after " + std::to_string(good_bytes_) + " bytes: " + std::strerror(error) +
           "; the file holds the packets up to there";
}

Result<void> CaptureWriter::flush() {
  if (!error_.empty()) return Error{error_};
  std::size_t done = 0;
  while (fd_ >= 0 && done < buffer_.size()) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      fail("write failed", n < 0 ? errno : ENOSPC);
      // Half a block would make readers complain; a pipe cannot be cut, and that is no second error.
      (void)!::ftruncate(fd_, static_cast<off_t>(good_bytes_));
      buffer_.clear();
      packets_ -= buffered_packets_;
      lost_ += std::exchange(buffered_packets_, 0);
      return Error{error_};
    }
    done += static_cast<std::size_t>(n);
  }
  good_bytes_ += buffer_.size();
  buffer_.clear();
  buffered_packets_ = 0;
  return {};
}

Result<void> CaptureWriter::close() {
  if (fd_ < 0) {
    if (!error_.empty()) return Error{error_};
    return {};
  }
  (void)flush();
  if (::close(std::exchange(fd_, -1)) != 0) fail("close failed", errno);
  if (!error_.empty()) return Error{error_};
  return {};
}

}  // namespace mrc::report
