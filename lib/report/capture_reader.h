// SPDX-License-Identifier: BSD-3-Clause
// Reads pcap and pcapng: both byte orders, microseconds to any resolution, every interface and section,
// comments and directions. libpcap hides interfaces, comments and resolutions of pcapng, hence this one; a
// file can only cause an error with its byte offset, and never takes more than one block of
// kMaxCaptureBlockBytes in memory.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/capture_types.h"

namespace mrc::report {

/// One pass over one capture. One thread.
class CaptureReader {
 public:
  /// "-" is standard input.
  static Result<CaptureReader> open(const std::string& path);
  /// `name` stands in error messages.
  static Result<CaptureReader> from_stream(std::unique_ptr<std::istream> in, std::string name);
  CaptureReader(CaptureReader&&) noexcept;
  CaptureReader& operator=(CaptureReader&&) noexcept;
  ~CaptureReader();

  /// True: `out` is the next packet. False: end of file. Error: the file is malformed or ends inside a
  /// record; all packets before it have been given, and the reader stays at that error.
  Result<bool> next(CapturedPacket& out);

  /// Interfaces of the current section, by CapturedPacket::interface_id. pcap has exactly one.
  [[nodiscard]] const std::vector<CaptureInterface>& interfaces() const;

 private:
  class Source;
  class Format;
  class Pcap;
  class Pcapng;
  CaptureReader(std::unique_ptr<Source> source, std::unique_ptr<Format> format);
  std::unique_ptr<Source> source_;
  std::unique_ptr<Format> format_;
};

}  // namespace mrc::report
