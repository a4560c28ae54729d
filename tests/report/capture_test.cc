// SPDX-License-Identifier: BSD-3-Clause
// Captures: files typed byte by byte from the formats' descriptions, and the writer read back.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "report/capture_reader.h"
#include "report/capture_writer.h"

namespace mrc::report {
namespace {

/// Builds a file in either byte order.
class File {
 public:
  explicit File(bool big) : big_(big) {}
  File& u16(std::uint16_t v) { return put(v, 2); }
  File& u32(std::uint32_t v) { return put(v, 4); }
  File& u64(std::uint64_t v) { return put(v, 8); }
  File& raw(std::string_view s) {
    bytes_ += s;
    return *this;
  }
  File& block(std::uint32_t type, const File& body) {
    const auto total = static_cast<std::uint32_t>(body.bytes_.size() + 12);
    return u32(type).u32(total).raw(body.bytes_).u32(total);
  }
  [[nodiscard]] File empty() const { return File(big_); }
  [[nodiscard]] const std::string& str() const { return bytes_; }

 private:
  File& put(std::uint64_t v, int n) {
    for (int i = 0; i < n; ++i) bytes_ += static_cast<char>(v >> 8 * (big_ ? n - 1 - i : i));
    return *this;
  }
  bool big_;
  std::string bytes_;
};

struct Read {
  std::vector<CapturedPacket> packets;
  std::vector<std::string> bytes;
  std::vector<std::string> interface_names;
  std::string error;
};

Read read_all(const std::string& content) {
  Read out;
  auto reader = CaptureReader::from_stream(std::make_unique<std::istringstream>(content), "test");
  if (!reader) {
    out.error = reader.error().message;
    return out;
  }
  CapturedPacket p;
  for (;;) {
    const Result<bool> r = reader->next(p);
    if (!r) {
      out.error = r.error().message;
      EXPECT_FALSE(reader->next(p)) << "the error stays";
      return out;
    }
    if (!*r) return out;
    out.packets.push_back(p);
    out.bytes.emplace_back(p.bytes.begin(), p.bytes.end());
    out.interface_names.push_back(reader->interfaces().at(p.interface_id).name);
  }
}

File pcap_header(bool big, std::uint32_t magic) {
  File f(big);
  f.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(65535).u32(1);
  return f;
}

TEST(Pcap, BothOrdersAndResolutions) {
  for (const bool big : {false, true}) {
    for (const bool ns : {false, true}) {
      File f = pcap_header(big, ns ? kPcapMagicNs : kPcapMagicUs);
      f.u32(10).u32(7).u32(3).u32(3).raw("abc");
      f.u32(11).u32(8).u32(2).u32(90).raw("xy");
      const Read r = read_all(f.str());
      ASSERT_EQ(r.error, "");
      ASSERT_EQ(r.packets.size(), 2U);
      EXPECT_EQ(r.packets[0].time_ns, 10'000'000'000U + (ns ? 7U : 7000U));
      EXPECT_EQ(r.bytes[0], "abc");
      EXPECT_EQ(r.packets[0].original_bytes, 3U);
      EXPECT_EQ(r.packets[1].original_bytes, 90U) << "snapped";
      EXPECT_EQ(r.bytes[1], "xy");
      EXPECT_EQ(r.packets[1].number, 2U);
      EXPECT_EQ(r.packets[1].file_offset, 24U + 16 + 3);
    }
  }
}

TEST(Pcap, LinkTypeWithoutFcsBits) {
  for (const bool big : {false, true}) {
    File f(big);
    f.u32(kPcapMagicUs).u16(2).u16(4).u32(0).u32(0).u32(99).u32(0x14000000U | kLinkLinuxSll2);
    auto reader = CaptureReader::from_stream(std::make_unique<std::istringstream>(f.str()), "test");
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->interfaces().at(0).link_type, kLinkLinuxSll2);
    EXPECT_EQ(reader->interfaces().at(0).snap_bytes, 99U);
  }
}

TEST(Pcap, EveryTruncationIsAnErrorWithItsPlace) {
  File f = pcap_header(false, kPcapMagicUs);
  f.u32(10).u32(7).u32(3).u32(3).raw("abc");
  const std::string whole = f.str();
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const Read r = read_all(whole.substr(0, n));
    if (n == 24) {
      EXPECT_EQ(r.error, "") << "no packet is a valid capture";
    } else {
      EXPECT_NE(r.error.find("byte "), std::string::npos) << n << ": " << r.error;
    }
  }
}

TEST(Pcap, AbsurdLengthIsRefusedWithoutTakingMemory) {
  File f = pcap_header(false, kPcapMagicUs);
  f.u32(10).u32(7).u32(0xFFFFFFF0).u32(3).raw("abc");
  EXPECT_NE(read_all(f.str()).error.find("byte 32: captured length 4294967280, at most 16777216"),
            std::string::npos);
}

File section(bool big) {
  File f(big);
  f.block(pcapng::kSectionHeader, f.empty().u32(pcapng::kByteOrderMagic).u16(1).u16(0).u64(~0ULL));
  return f;
}

TEST(Pcapng, InterfacesResolutionsDirectionsComments) {
  for (const bool big : {false, true}) {
    File f = section(big);
    f.block(1, f.empty().u16(1).u16(0).u32(0));  // microseconds, no name
    f.block(1, f.empty()
                   .u16(101)
                   .u16(0)
                   .u32(64)
                   .u16(2)
                   .u16(6)
                   .raw(std::string_view("plane1\0\0", 8))
                   .u16(9)
                   .u16(1)
                   .raw(std::string_view("\x09\0\0\0", 4))
                   .u32(0));
    f.block(1, f.empty()
                   .u16(1)
                   .u16(0)
                   .u32(0)
                   .u16(9)
                   .u16(1)
                   .raw(std::string_view("\x8a\0\0\0", 4))
                   .u16(14)
                   .u16(8)
                   .u64(100)
                   .u32(0));       // 2^-10 s, 100 s later
    f.block(4, f.empty().u32(0));  // name resolution: skipped
    f.block(6, f.empty().u32(0).u32(0).u32(5'000'001).u32(3).u32(3).raw(std::string_view("abc\0", 4)));
    f.block(6, f.empty()
                   .u32(1)
                   .u32(1)
                   .u32(2)
                   .u32(2)
                   .u32(70)
                   .raw(std::string_view("xy\0\0", 4))
                   .u16(2)
                   .u16(4)
                   .u32(2)
                   .u16(1)
                   .u16(5)
                   .raw(std::string_view("drop!\0\0\0", 8))
                   .u32(0));
    f.block(6, f.empty().u32(2).u32(0).u32(2048).u32(0).u32(0));
    f.block(3, f.empty().u32(2).raw(std::string_view("hi\0\0", 4)));
    f.block(2, f.empty().u16(1).u16(0).u32(0).u32(9).u32(1).u32(1).raw(std::string_view("z\0\0\0", 4)));
    const Read r = read_all(f.str());
    ASSERT_EQ(r.error, "");
    ASSERT_EQ(r.packets.size(), 5U);
    EXPECT_EQ(r.packets[0].time_ns, 5'000'001'000U);
    EXPECT_EQ(r.bytes[0], "abc");
    EXPECT_EQ(r.packets[0].direction, Direction::kUnknown);
    EXPECT_EQ(r.packets[1].time_ns, (1ULL << 32) + 2);
    EXPECT_EQ(r.interface_names[1], "plane1");
    EXPECT_EQ(r.packets[1].direction, Direction::kOutbound);
    EXPECT_EQ(r.packets[1].comment, "drop!");
    EXPECT_EQ(r.packets[1].original_bytes, 70U);
    EXPECT_EQ(r.packets[2].time_ns, 102'000'000'000U);
    EXPECT_EQ(r.bytes[3], "hi");
    EXPECT_EQ(r.packets[4].interface_id, 1U);
    EXPECT_EQ(r.bytes[4], "z");
  }
}

TEST(Pcapng, SectionsOfDifferentOrderStartAgain) {
  File f = section(false);
  f.block(1, f.empty().u16(1).u16(0).u32(0).u16(2).u16(1).raw(std::string_view("a\0\0\0", 4)).u32(0));
  f.block(6, f.empty().u32(0).u32(0).u32(1).u32(0).u32(0));
  File g = section(true);
  g.block(1, g.empty().u16(1).u16(0).u32(0).u16(2).u16(1).raw(std::string_view("b\0\0\0", 4)).u32(0));
  g.block(6, g.empty().u32(0).u32(0).u32(1).u32(0).u32(0));
  const Read r = read_all(f.str() + g.str());
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(r.interface_names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(r.packets[1].number, 2U);
  EXPECT_NE(
      read_all(f.str() + section(false).block(6, g.empty().u32(0).u32(0).u32(1).u32(0).u32(0)).str()).error,
      "");
}

TEST(Pcapng, LiesAreErrorsWithTheirPlace) {
  const File base = section(false).block(1, File(false).u16(1).u16(0).u32(0));
  const auto error_of = [&](const File& tail) { return read_all(base.str() + tail.str()).error; };
  const File packet = File(false).u32(0).u32(0).u32(1).u32(9).u32(9).raw(std::string_view("abcd", 4));
  EXPECT_NE(error_of(File(false).block(6, packet)).find("captured length 9, the block holds 4"),
            std::string::npos);
  EXPECT_NE(
      error_of(File(false).block(6, File(false).u32(3).u32(0).u32(1).u32(0).u32(0))).find("interface 3"),
      std::string::npos);
  EXPECT_NE(error_of(File(false).u32(6).u32(13)).find("block length 13"), std::string::npos);
  EXPECT_NE(error_of(File(false).u32(6).u32(0x7FFFFFFC)).find("block length 2147483644"), std::string::npos);
  EXPECT_NE(error_of(File(false).u32(99).u32(16).u32(0).u32(20)).find("block length repeated as 20"),
            std::string::npos);
  EXPECT_NE(error_of(File(false).u32(99).u32(4096).u32(0)).find("ends inside this record"),
            std::string::npos);
  EXPECT_NE(
      error_of(
          File(false).block(
              1,
              File(false).u16(1).u16(0).u32(0).u16(9).u16(1).raw(std::string_view("\x20\0\0\0", 4)).u32(0)))
          .find("resolution"),
      std::string::npos);
  EXPECT_NE(read_all(section(false).block(3, File(false).u32(0)).str()).error.find("before any interface"),
            std::string::npos);
}

TEST(Pcapng, EveryTruncationIsAnErrorOrAnEnd) {
  File f = section(false);
  f.block(1, f.empty().u16(1).u16(0).u32(0));
  const std::size_t first = f.str().size();
  f.block(6, f.empty().u32(0).u32(0).u32(1).u32(4).u32(4).raw("abcd"));
  for (std::size_t n = 0; n < f.str().size(); ++n) {
    const Read r = read_all(f.str().substr(0, n));
    EXPECT_EQ(r.error.empty(), n == 28 || n == first) << n;
    EXPECT_TRUE(r.packets.empty());
  }
}

TEST(Reader, NotACapture) {
  EXPECT_NE(read_all("").error.find("only 0 bytes"), std::string::npos);
  EXPECT_NE(read_all("hello, world; no capture").error.find("neither pcap nor pcapng"), std::string::npos);
  const auto r = CaptureReader::open("/does/not/exist.pcap");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("No such file"), std::string::npos);
}

class Writer : public ::testing::Test {
 protected:
  const std::string path_ = ::testing::TempDir() + "mrc_capture_writer_test.pcapng";
  void TearDown() override { std::filesystem::remove(path_); }
  [[nodiscard]] std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
};

std::span<const std::uint8_t> bytes_of(std::string_view s) {
  return {reinterpret_cast<const std::uint8_t*>(s.data()), s.size()};
}

TEST_F(Writer, ReadsBackAsWritten) {
  const CaptureInterface planes[] = {{"plane0", kLinkEthernet, 0}, {"plane1", kLinkEthernet, 5}};
  auto w = CaptureWriter::create(path_, planes, "test");
  ASSERT_TRUE(w) << w.error().message;
  EXPECT_TRUE(w->write(0, 1'700'000'000'123'456'789, Direction::kInbound, bytes_of("abc")));
  EXPECT_TRUE(w->write(1, 5, Direction::kOutbound, bytes_of("longer than five"), "drop: icrc"));
  const std::span<const std::uint8_t> chain[] = {bytes_of("ab"), bytes_of(""), bytes_of("cde"),
                                                 bytes_of("f")};
  EXPECT_TRUE(w->write({1, 6, Direction::kUnknown, chain, 0, ""}));
  const std::span<const std::uint8_t> head[] = {bytes_of("head")};
  EXPECT_TRUE(w->write({0, 7, Direction::kUnknown, head, 4242, ""}));
  EXPECT_FALSE(w->write(2, 1, Direction::kInbound, bytes_of("no such interface")));
  EXPECT_EQ(w->packets(), 4U);
  EXPECT_EQ(w->lost(), 1U);
  ASSERT_TRUE(w->close());

  const Read r = read_all(content());
  ASSERT_EQ(r.error, "");
  ASSERT_EQ(r.packets.size(), 4U);
  EXPECT_EQ(r.packets[0].time_ns, 1'700'000'000'123'456'789U);
  EXPECT_EQ(r.packets[0].direction, Direction::kInbound);
  EXPECT_EQ(r.bytes[0], "abc");
  EXPECT_EQ(r.interface_names[0], "plane0");
  EXPECT_EQ(r.bytes[1], "longe");
  EXPECT_EQ(r.packets[1].original_bytes, 16U);
  EXPECT_EQ(r.packets[1].comment, "drop: icrc");
  EXPECT_EQ(r.packets[1].direction, Direction::kOutbound);
  EXPECT_EQ(r.interface_names[1], "plane1");
  EXPECT_EQ(r.bytes[2], "abcde");
  EXPECT_EQ(r.packets[2].original_bytes, 6U);
  EXPECT_EQ(r.bytes[3], "head");
  EXPECT_EQ(r.packets[3].original_bytes, 4242U);
}

TEST_F(Writer, ManyPacketsCrossTheBuffer) {
  const CaptureInterface plane[] = {{"p", kLinkEthernet, 0}};
  auto w = CaptureWriter::create(path_, plane, "test");
  ASSERT_TRUE(w);
  std::string packet(9000, 'x');
  for (int i = 0; i < 500; ++i) {
    packet[0] = static_cast<char>(i);
    ASSERT_TRUE(w->write(0, static_cast<std::uint64_t>(i), Direction::kInbound, bytes_of(packet)));
  }
  ASSERT_TRUE(w->close());
  const Read r = read_all(content());
  ASSERT_EQ(r.error, "");
  ASSERT_EQ(r.packets.size(), 500U);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(r.bytes[i][0], static_cast<char>(i));
    EXPECT_EQ(r.bytes[i].size(), 9000U);
  }
}

TEST_F(Writer, AFailedWriteIsKeptAndCounted) {
  const CaptureInterface plane[] = {{"p", kLinkEthernet, 0}};
  auto full = CaptureWriter::create("/dev/full", plane, "test");
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().message.find("No space left"), std::string::npos);
  auto none = CaptureWriter::create("/does/not/exist/x", plane, "test");
  ASSERT_FALSE(none);
  EXPECT_FALSE(CaptureWriter::create(path_, {}, "test"));
}

}  // namespace
}  // namespace mrc::report
