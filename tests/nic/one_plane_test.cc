// SPDX-License-Identifier: BSD-3-Clause
// One plane, three paths, one of them dead, both ways: no other plane brings news or asks for it.
#include <algorithm>

#include "two_nics.h"

namespace mrc::nic {
namespace {

using transport::Completion;

/// ECMP over three paths by source port; one of them swallows what is sent into it, whoever sends.
struct Paths {
  static constexpr unsigned kCount = 3;
  static inline unsigned dead = kCount;  // kCount: none
  static unsigned of(std::uint16_t sport) { return sport % kCount; }
  static std::uint16_t tx(std::uint16_t port, std::uint16_t queue, rte_mbuf** pkts, std::uint16_t n) {
    for (std::uint16_t i = 0; i < n; ++i) {
      const auto* frame = rte_pktmbuf_mtod(pkts[i], const std::uint8_t*);
      const auto sport = static_cast<std::uint16_t>(frame[34] << 8 | frame[35]);  // IPv4 without options
      if (of(sport) == dead) {
        rte_pktmbuf_free(pkts[i]);
      } else if (rte_eth_tx_burst(port, queue, &pkts[i], 1) != 1) {
        return i;
      }
    }
    return n;
  }
};

constexpr Duration kBaseRtt = microseconds(10);
constexpr Duration kStep = microseconds(2);
constexpr std::uint32_t kMessageBytes = 16384;

Wiring one_plane(unsigned evs) {
  Wiring s;
  s.planes = 1;
  s.evs = evs;
  s.attr.path_mtu = 1024;
  s.policy.base_rtt = kBaseRtt;
  s.policy.reverse_probes = true;
  s.tx_tap = {Paths::tx, Paths::tx};
  return s;
}

/// A stream without end from host 0 to host 1.
struct Stream {
  explicit Stream(TwoNics& n) : net(n) {}
  TwoNics& net;
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;
  bool failed = false;

  /// Messages completed within that time.
  std::uint64_t run(Duration time) {
    const std::uint64_t before = completed;
    const Time end = net.now + time;
    net.run(
        [&] {
          Host& a = net.host[0];
          std::array<Completion, 32> some;
          const std::size_t n = a.w().poll_cq(a.qpn, some);
          for (std::size_t i = 0; i < n; ++i)
            failed = failed || some[i].status != transport::WcStatus::kSuccess;
          completed += n;
          while (posted - completed < 16 &&
                 TwoNics::post(a, TwoNics::write(a, net.host[1], posted, 0, kMessageBytes)) ==
                     PostStatus::kOk)
            ++posted;
          return net.now >= end;
        },
        1'000'000, kStep);
    return completed - before;
  }
};

class OnePlane : public ::testing::TestWithParam<unsigned> {
 protected:
  void TearDown() override { Paths::dead = Paths::kCount; }
};

TEST_P(OnePlane, ADeadPathCostsAFewRoundTrips) {
  for (unsigned dead = 0; dead < Paths::kCount; ++dead) {
    for (int phase = 0; phase < 12; ++phase) {
      SCOPED_TRACE("path " + std::to_string(dead) + ", phase " + std::to_string(phase));
      Paths::dead = Paths::kCount;
      TwoNics net(one_plane(GetParam()));
      Stream stream(net);
      stream.run(milliseconds(1) + microseconds(14) * phase);
      const std::uint64_t healthy = stream.run(milliseconds(1));
      Paths::dead = dead;
      const std::uint64_t repair = stream.run(kBaseRtt * 40);
      const std::uint64_t after = stream.run(milliseconds(1));
      // At most fifteen of the forty stand still: before, it was all of them and every one that followed.
      EXPECT_GE(repair, healthy * 25 * kBaseRtt.ns / milliseconds(1).ns);
      EXPECT_GE(after * 10, healthy * 9);
      EXPECT_FALSE(stream.failed);
    }
  }
}

TEST_P(OnePlane, APathThatWasNeverAliveCostsAFewRoundTrips) {
  for (unsigned dead = 0; dead < Paths::kCount; ++dead) {
    SCOPED_TRACE(dead);
    Paths::dead = Paths::kCount;
    TwoNics net(one_plane(GetParam()));
    Paths::dead = dead;
    Stream stream(net);
    const std::uint64_t repair = stream.run(kBaseRtt * 40);
    const std::uint64_t after = stream.run(milliseconds(1));
    EXPECT_GE(repair, 100U);
    EXPECT_GE(after, 100U);
    EXPECT_FALSE(stream.failed);
  }
}

INSTANTIATE_TEST_SUITE_P(Evs, OnePlane, ::testing::Values(3U, 24U, 128U));

}  // namespace
}  // namespace mrc::nic
