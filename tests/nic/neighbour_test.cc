// SPDX-License-Identifier: BSD-3-Clause
#include "nic/neighbour.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/rng.h"

namespace mrc::nic {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes from_hex(const std::string& hex) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

const MacAddress kMac = *MacAddress::parse("02:00:00:00:00:aa");
const std::array<IpAddress, 3> kOurs{*IpAddress::parse("10.0.0.2"), *IpAddress::parse("fd00::2"),
                                     *IpAddress::parse("10.0.1.2")};

Bytes answer(const Bytes& question) {
  std::array<std::uint8_t, kNeighbourAnswerBytes> out{};
  const std::size_t n = answer_neighbour(question, kMac, kOurs, out);
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n)};
}

// Made with scapy: Ether(src="02:00:00:00:00:01",dst="ff:..")/ARP(hwsrc=..,psrc="10.0.0.1",pdst="10.0.0.2")
const std::string kArpRequest =
    "ffffffffffff020000000001080600010800060400010200000000010a0000010000000000000a000002";

TEST(Neighbour, AnswersArp) {
  EXPECT_EQ(answer(from_hex(kArpRequest)),
            from_hex("0200000000010200000000aa080600010800060400020200000000aa0a0000020200000000010a000001"));
}

TEST(Neighbour, KeepsVlanTags) {
  for (const std::string tpid : {"8100", "88a8", "9100"}) {
    const std::string tagged = kArpRequest.substr(0, 24) + tpid + "0064" + kArpRequest.substr(24);
    EXPECT_EQ(answer(from_hex(tagged)),
              from_hex("0200000000010200000000aa" + tpid +
                       "0064080600010800060400020200000000aa0a0000020200000000010a000001"));
  }
}

TEST(Neighbour, LeavesOthersAlone) {
  Bytes q = from_hex(kArpRequest);
  q.back() = 3;  // 10.0.0.3 is not ours
  EXPECT_TRUE(answer(q).empty());
  q = from_hex(kArpRequest);
  q[21] = 2;  // a reply, not a request
  EXPECT_TRUE(answer(q).empty());
}

// scapy:
// Ether(src="02:00:00:00:00:01",dst="33:33:ff:00:00:02")/IPv6(src="fd00::1",dst="ff02::1:ff00:2",hlim=255)/
// ICMPv6ND_NS(tgt="fd00::2")/ICMPv6NDOptSrcLLAddr(lladdr="02:00:00:00:00:01")
const std::string kSolicitation =
    "3333ff00000202000000000186dd6000000000203afffd000000000000000000000000000001ff0200000000000000000001ff00"
    "0002"
    "87007d9700000000fd0000000000000000000000000000020101020000000001";

// scapy: the advertisement,
// ICMPv6ND_NA(tgt="fd00::2",R=0,S=1,O=1)/ICMPv6NDOptDstLLAddr(lladdr="02:00:00:00:00:aa")
TEST(Neighbour, AnswersSolicitations) {
  EXPECT_EQ(
      answer(from_hex(kSolicitation)),
      from_hex(
          "0200000000010200000000aa86dd6000000000203afffd000000000000000000000000000002fd0000000000000000"
          "0000000000000188001bf260000000fd00000000000000000000000000000202010200000000aa"));
}

TEST(Neighbour, SolicitationsNeedHopLimit255AndAGoodChecksum) {
  Bytes q = from_hex(kSolicitation);
  q[14 + 7] = 254;
  EXPECT_TRUE(answer(q).empty());
  q = from_hex(kSolicitation);
  q.back() ^= 1;
  EXPECT_TRUE(answer(q).empty());
}

TEST(Neighbour, AnyCutOrFlippedByteIsRefusedOrAnsweredInsideTheBuffer) {
  for (const std::string& hex : {kArpRequest, kSolicitation}) {
    const Bytes whole = from_hex(hex);
    for (std::size_t n = 0; n < whole.size(); ++n) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      EXPECT_TRUE(answer(cut).empty()) << n;
    }
    Rng rng(11);
    for (int i = 0; i < 20000; ++i) {
      Bytes q = whole;
      q[rng.below(q.size())] = static_cast<std::uint8_t>(rng.next());
      EXPECT_LE(answer(q).size(), kNeighbourAnswerBytes);
    }
  }
}

}  // namespace
}  // namespace mrc::nic
