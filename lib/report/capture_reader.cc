// SPDX-License-Identifier: BSD-3-Clause
#include "report/capture_reader.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>

#include "base/printable.h"

namespace mrc::report {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
__extension__ using Wide = unsigned __int128;

/// Integers of a file whose byte order may not be ours.
struct Order {
  bool swap = false;
  [[nodiscard]] std::uint16_t u16(const std::uint8_t* p) const {
    std::uint16_t v;
    std::memcpy(&v, p, 2);
    return swap ? __builtin_bswap16(v) : v;
  }
  [[nodiscard]] std::uint32_t u32(const std::uint8_t* p) const {
    std::uint32_t v;
    std::memcpy(&v, p, 4);
    return swap ? __builtin_bswap32(v) : v;
  }
  [[nodiscard]] std::uint64_t u64(const std::uint8_t* p) const {
    std::uint64_t v;
    std::memcpy(&v, p, 8);
    return swap ? __builtin_bswap64(v) : v;
  }
};

/// `ticks` of 1/per_second as nanoseconds; saturates.
std::uint64_t to_ns(std::uint64_t ticks, std::uint64_t per_second) {
  const Wide ns = Wide{ticks} * kNsPerSecond / per_second;
  const auto max = std::numeric_limits<std::uint64_t>::max();
  return ns > max ? max : static_cast<std::uint64_t>(ns);
}

}  // namespace

/// The file: reads exactly, counts the offset, words errors.
class CaptureReader::Source {
 public:
  Source(std::unique_ptr<std::istream> in, std::string name) : in_(std::move(in)), name_(std::move(name)) {}

  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  /// How many of `n` bytes could be read.
  std::size_t read(std::uint8_t* p, std::size_t n) {
    in_->read(reinterpret_cast<char*>(p), static_cast<std::streamsize>(n));
    const auto got = static_cast<std::size_t>(in_->gcount());
    offset_ += got;
    return got;
  }
  /// Reads `n` bytes into `to`, growing it as data comes: a length that lies costs no memory.
  bool read_into(std::vector<std::uint8_t>& to, std::size_t n) {
    constexpr std::size_t kStep = 64U << 10;
    to.clear();
    while (to.size() < n) {
      const std::size_t had = to.size();
      const std::size_t step = n - had < kStep ? n - had : kStep;
      to.resize(had + step);
      if (read(to.data() + had, step) != step) return false;
    }
    return true;
  }
  [[nodiscard]] Error error(std::uint64_t at, const std::string& what) const {
    return Error{name_ + ": byte " + std::to_string(at) + ": " + what};
  }
  [[nodiscard]] Error truncated(std::uint64_t record) const {
    return error(record, "the file ends inside this record, at byte " + std::to_string(offset_) +
                             "; was the capture stopped hard?");
  }

 private:
  std::unique_ptr<std::istream> in_;
  std::string name_;
  std::uint64_t offset_ = 0;
};

class CaptureReader::Format {
 public:
  Format() = default;
  Format(const Format&) = delete;
  Format& operator=(const Format&) = delete;
  virtual ~Format() = default;
  virtual Result<bool> next(Source& in, CapturedPacket& out) = 0;

  std::vector<CaptureInterface> interfaces;
  std::optional<Error> failed;

 protected:
  std::vector<std::uint8_t> data_;
  std::uint64_t packets_ = 0;
};

// ---- pcap -----------------------------------------------------------------------------------------------

class CaptureReader::Pcap : public CaptureReader::Format {
 public:
  static constexpr std::size_t kHeaderBytes = 24;

  Pcap(Order order, bool nanoseconds, const std::uint8_t* header) : order_(order), nanoseconds_(nanoseconds) {
    CaptureInterface i;
    i.snap_bytes = order.u32(header + 16);
    i.link_type = order.u16(header + (order.swap ? 22 : 20));  // low half: the high one has FCS flags
    interfaces.push_back(std::move(i));
  }

  Result<bool> next(Source& in, CapturedPacket& out) override {
    const std::uint64_t at = in.offset();
    std::uint8_t h[16];
    const std::size_t got = in.read(h, sizeof h);
    if (got == 0) return false;
    if (got != sizeof h) return in.truncated(at);
    const std::uint32_t captured = order_.u32(h + 8);
    if (captured > kMaxCaptureBlockBytes) {
      return in.error(at + 8, "captured length " + std::to_string(captured) + ", at most " +
                                  std::to_string(kMaxCaptureBlockBytes) + "; not a packet record");
    }
    if (!in.read_into(data_, captured)) return in.truncated(at);
    out.number = ++packets_;
    out.file_offset = at;
    out.interface_id = 0;
    out.time_ns = order_.u32(h) * kNsPerSecond + std::uint64_t{order_.u32(h + 4)} * (nanoseconds_ ? 1 : 1000);
    out.direction = Direction::kUnknown;
    out.original_bytes = std::max(order_.u32(h + 12), captured);
    out.bytes = data_;
    out.comment.clear();
    return true;
  }

 private:
  Order order_;
  bool nanoseconds_;
};

// ---- pcapng ---------------------------------------------------------------------------------------------

class CaptureReader::Pcapng : public CaptureReader::Format {
 public:
  /// `start` is the first section header's first 12 bytes, already read.
  explicit Pcapng(const std::uint8_t* start) { std::memcpy(start_, start, sizeof start_); }

  Result<bool> next(Source& in, CapturedPacket& out) override {
    for (;;) {
      Result<std::optional<Block>> block = read_block(in);
      if (!block) return block.error();
      if (!*block) return false;
      const Result<bool> packet = take(in, **block, out);
      if (!packet || *packet) return packet;
    }
  }

 private:
  struct Block {
    std::uint32_t type;
    std::uint64_t at;  ///< file offset of the block
    std::span<const std::uint8_t> body;
  };
  struct Clock {
    std::uint64_t ticks_per_second = 1'000'000;
    std::uint64_t offset_s = 0;
  };

  static Error wrong(const Source& in, const Block& b, std::size_t body_offset, const std::string& what) {
    return in.error(b.at + 8 + body_offset, what);
  }

  /// One block into data_. Nothing: end of file.
  Result<std::optional<Block>> read_block(Source& in) {
    const std::uint64_t at = in.offset() - (first_ ? sizeof start_ : 0);
    std::uint8_t h[12];
    std::size_t have = sizeof h;
    if (first_) {
      std::memcpy(h, start_, sizeof h);
      first_ = false;
    } else {
      have = in.read(h, 8);
      if (have == 0) return std::optional<Block>{};
      if (have != 8) return in.truncated(at);
    }
    // A section header's type reads the same in both byte orders, and tells the order of all that follows.
    std::uint32_t type;
    std::memcpy(&type, h, 4);
    const bool section = type == pcapng::kSectionHeader;
    if (section) {
      if (have == 8 && in.read(h + 8, 4) != 4) return in.truncated(at);
      if (!set_order(h + 8)) return in.error(at + 8, "no pcapng byte order magic");
    }
    type = order_.u32(h);
    const std::uint32_t total = order_.u32(h + 4);
    const std::uint32_t head = section ? 12 : 8;
    if (total < head + 4 || total % 4 != 0 || total > kMaxCaptureBlockBytes) {
      return in.error(at + 4, "block length " + std::to_string(total) + ", must be a multiple of 4 from " +
                                  std::to_string(head + 4) + " to " + std::to_string(kMaxCaptureBlockBytes));
    }
    if (!in.read_into(data_, total - head)) return in.truncated(at);
    if (order_.u32(data_.data() + data_.size() - 4) != total) {
      return in.error(at + total - 4, "block length repeated as " +
                                          std::to_string(order_.u32(data_.data() + data_.size() - 4)) +
                                          ", at the front it is " + std::to_string(total));
    }
    if (section) data_.insert(data_.begin(), h + 8, h + 12);  // so that a body offset is one in the file
    return std::optional<Block>{Block{type, at, std::span(data_).first(data_.size() - 4)}};
  }

  bool set_order(const std::uint8_t* magic) {
    order_.swap = false;
    if (order_.u32(magic) == pcapng::kByteOrderMagic) return true;
    order_.swap = true;
    return order_.u32(magic) == pcapng::kByteOrderMagic;
  }

  /// True when `block` was a packet.
  Result<bool> take(const Source& in, const Block& b, CapturedPacket& out) {
    switch (b.type) {
      case pcapng::kSectionHeader:
        return take_section(in, b);
      case pcapng::kInterface:
        return take_interface(in, b);
      case pcapng::kEnhancedPacket:
        return take_enhanced(in, b, out);
      case pcapng::kPacketObsolete:
        return take_obsolete(in, b, out);
      case pcapng::kSimplePacket:
        return take_simple(in, b, out);
      default:
        return false;  // names, statistics, custom blocks: nothing for us
    }
  }

  Result<bool> take_section(const Source& in, const Block& b) {
    if (b.body.size() < 16) return wrong(in, b, b.body.size(), "section header too short");
    const std::uint16_t major = order_.u16(&b.body[4]);
    if (major != 1) return wrong(in, b, 4, "pcapng version " + std::to_string(major) + ", only 1 is known");
    interfaces.clear();  // numbers start again in each section
    clocks_.clear();
    return false;
  }

  Result<bool> take_interface(const Source& in, const Block& b) {
    if (b.body.size() < 8) return wrong(in, b, b.body.size(), "interface description too short");
    if (interfaces.size() >= kMaxCaptureInterfaces) {
      return wrong(in, b, 0, "more than " + std::to_string(kMaxCaptureInterfaces) + " interfaces");
    }
    CaptureInterface i;
    Clock clock;
    i.link_type = order_.u16(b.body.data());
    i.snap_bytes = order_.u32(&b.body[4]);
    bool bad_clock = false;
    for_each_option(b.body.subspan(8), [&](std::uint16_t code, std::span<const std::uint8_t> value) {
      if (code == pcapng::kOptIfName) i.name.assign(value.begin(), value.end());
      if (code == pcapng::kOptIfTsresol && !value.empty()) bad_clock = !set_resolution(clock, value[0]);
      if (code == pcapng::kOptIfTsoffset && value.size() == 8) clock.offset_s = order_.u64(value.data());
    });
    if (bad_clock) return wrong(in, b, 8, "timestamp resolution finer than 10^-19 s or 2^-63 s");
    interfaces.push_back(std::move(i));
    clocks_.push_back(clock);
    return false;
  }

  static bool set_resolution(Clock& clock, std::uint8_t tsresol) {
    const unsigned exponent = tsresol & 0x7F;
    if ((tsresol & 0x80) != 0) {
      if (exponent > 63) return false;
      clock.ticks_per_second = std::uint64_t{1} << exponent;
      return true;
    }
    if (exponent > 19) return false;
    clock.ticks_per_second = 1;
    for (unsigned k = 0; k < exponent; ++k) clock.ticks_per_second *= 10;
    return true;
  }

  Result<bool> take_enhanced(const Source& in, const Block& b, CapturedPacket& out) {
    if (b.body.size() < 20) return wrong(in, b, b.body.size(), "packet block too short");
    return fill(in, b, order_.u32(b.body.data()), &b.body[4], order_.u32(&b.body[12]),
                order_.u32(&b.body[16]), 20, out);
  }
  Result<bool> take_obsolete(const Source& in, const Block& b, CapturedPacket& out) {
    if (b.body.size() < 20) return wrong(in, b, b.body.size(), "packet block too short");
    return fill(in, b, order_.u16(b.body.data()), &b.body[4], order_.u32(&b.body[12]),
                order_.u32(&b.body[16]), 20, out);
  }
  Result<bool> take_simple(const Source& in, const Block& b, CapturedPacket& out) {
    if (b.body.size() < 4) return wrong(in, b, b.body.size(), "packet block too short");
    if (interfaces.empty()) return wrong(in, b, 0, "packet before any interface description");
    const std::uint32_t original = order_.u32(b.body.data());
    const std::uint32_t snap = interfaces[0].snap_bytes;
    const std::uint32_t captured = snap != 0 && snap < original ? snap : original;
    return fill(in, b, 0, nullptr, captured, original, 4, out);
  }

  Result<bool> fill(const Source& in, const Block& b, std::uint32_t interface_id, const std::uint8_t* time,
                    std::uint32_t captured, std::uint32_t original, std::size_t at, CapturedPacket& out) {
    if (interface_id >= interfaces.size()) {
      return wrong(in, b, 0,
                   "interface " + std::to_string(interface_id) +
                       ", described so far: " + std::to_string(interfaces.size()));
    }
    if (captured > b.body.size() - at) {
      return wrong(in, b, at - 8,
                   "captured length " + std::to_string(captured) + ", the block holds " +
                       std::to_string(b.body.size() - at));
    }
    out.number = ++packets_;
    out.file_offset = b.at;
    out.interface_id = interface_id;
    out.time_ns = time == nullptr ? 0 : timestamp(clocks_[interface_id], time);
    out.direction = Direction::kUnknown;
    out.original_bytes = std::max(original, captured);
    out.bytes = b.body.subspan(at, captured);
    out.comment.clear();
    const std::size_t options = std::min(at + ((std::size_t{captured} + 3) & ~std::size_t{3}), b.body.size());
    for_each_option(b.body.subspan(options), [&](std::uint16_t code, std::span<const std::uint8_t> value) {
      if (code == pcapng::kOptComment) {
        if (!out.comment.empty()) out.comment += "; ";
        out.comment.append(value.begin(), value.end());
      }
      if (code == pcapng::kOptEpbFlags && value.size() == 4) {
        const std::uint32_t direction = order_.u32(value.data()) & 3;
        out.direction = direction == 3 ? Direction::kUnknown : static_cast<Direction>(direction);
      }
    });
    return true;
  }

  [[nodiscard]] std::uint64_t timestamp(const Clock& clock, const std::uint8_t* p) const {
    const std::uint64_t ticks = std::uint64_t{order_.u32(p)} << 32 | order_.u32(p + 4);
    return to_ns(ticks, clock.ticks_per_second) + clock.offset_s * kNsPerSecond;
  }

  /// Options up to the end mark; one that runs over the end stops the walk.
  template <class F>
  void for_each_option(std::span<const std::uint8_t> o, F f) const {
    while (o.size() >= 4) {
      const std::uint16_t code = order_.u16(o.data());
      const std::uint16_t length = order_.u16(&o[2]);
      if (code == pcapng::kOptEnd || length > o.size() - 4) return;
      f(code, o.subspan(4, length));
      const std::size_t padded = 4 + ((std::size_t{length} + 3) & ~std::size_t{3});
      if (padded > o.size()) return;
      o = o.subspan(padded);
    }
  }

  std::uint8_t start_[12] = {};
  bool first_ = true;
  Order order_;
  std::vector<Clock> clocks_;
};

// ---- opening --------------------------------------------------------------------------------------------

CaptureReader::CaptureReader(std::unique_ptr<Source> source, std::unique_ptr<Format> format)
    : source_(std::move(source)), format_(std::move(format)) {}
CaptureReader::CaptureReader(CaptureReader&&) noexcept = default;
CaptureReader& CaptureReader::operator=(CaptureReader&&) noexcept = default;
CaptureReader::~CaptureReader() = default;

Result<CaptureReader> CaptureReader::open(const std::string& path) {
  if (path == "-") {
    return from_stream(std::make_unique<std::istream>(std::cin.rdbuf()), "standard input");
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Error{printable(path) + ": is a directory; name the captures in it: " + printable(path) +
                 "/*.pcapng"};
  }
  auto in = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!*in) {
    const int error = errno;
    return Error{printable(path) + ": cannot be opened: " + std::strerror(error) +
                 (error == EACCES
                      ? "; it belongs to another user (a capture made by root): sudo chmod a+r FILE"
                      : "")};
  }
  return from_stream(std::move(in), path);
}

Result<CaptureReader> CaptureReader::from_stream(std::unique_ptr<std::istream> in, std::string name) {
  auto source = std::make_unique<Source>(std::move(in), std::move(name));
  std::uint8_t h[Pcap::kHeaderBytes];
  if (const std::size_t got = source->read(h, 12); got != 12) {
    return source->error(got, "neither pcap nor pcapng: only " + std::to_string(got) + " bytes long");
  }
  std::unique_ptr<Format> format;
  if (Order{}.u32(h) == pcapng::kSectionHeader) {
    format = std::make_unique<Pcapng>(h);
  } else {
    for (const bool swap : {false, true}) {
      const std::uint32_t magic = Order{swap}.u32(h);
      if (magic != kPcapMagicUs && magic != kPcapMagicNs) continue;
      if (source->read(h + 12, sizeof h - 12) != sizeof h - 12) return source->truncated(0);
      format = std::make_unique<Pcap>(Order{swap}, magic == kPcapMagicNs, h);
    }
  }
  if (!format)
    return source->error(0, "neither pcap nor pcapng; a capture starts with a1b2c3d4, a1b23c4d or 0a0d0d0a");
  return CaptureReader(std::move(source), std::move(format));
}

Result<bool> CaptureReader::next(CapturedPacket& out) {
  if (format_->failed) return *format_->failed;
  Result<bool> r = format_->next(*source_, out);
  if (!r) format_->failed = r.error();
  return r;
}

const std::vector<CaptureInterface>& CaptureReader::interfaces() const {
  return format_->interfaces;
}

}  // namespace mrc::report
