// SPDX-License-Identifier: BSD-3-Clause
#include "sim/matrix.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "base/printable.h"

namespace mrc::sim {
namespace {

Result<Matrix> parse(const std::string& text) {
  return parse_matrix(text, "m.cm");
}

TEST(Matrix, ReadsConnectionsTriggersAndPicoseconds) {
  const auto m = parse(
      "# two steps\nNodes 4\nConnections 2\nTriggers 1\n"
      "0->1 id 1 start 5000000 size 4096 send_done_trigger 7\n"
      "1->2 id 2 trigger 7 size 100 prio 3\ntrigger id 7 barrier count 1\n");
  ASSERT_TRUE(m) << m.error().message;
  EXPECT_EQ(m->connections[0].start.ns, 5000);
  EXPECT_EQ(m->connections[0].send_done_trigger, 7U);
  EXPECT_EQ(m->connections[1].trigger, 7U);
  EXPECT_EQ(m->triggers[0].type, TriggerType::kBarrier);
  EXPECT_EQ(m->total_bytes(), 4196U);
}

TEST(Matrix, ErrorsNameTheLineAndTheLimit) {
  const std::pair<const char*, const char*> cases[] = {
      {"Nodes 4\n0->4 start 0 size 1\n", "m.cm:2: '0->4' names a node outside 0..3"},
      {"Nodes 4\n0->0 start 0 size 1\n", "m.cm:2: '0->0': a node cannot send to itself"},
      {"Nodes 4\n0->1 start 0\n", "m.cm:2: the connection has no size"},
      {"Nodes 4\n0->1 size 3\n", "m.cm:2: a connection has either a start or a trigger"},
      {"Nodes 4\n0->1 begin 3\n", "m.cm:2: 'begin' is no attribute"},
      {"Nodes 4\nConnections 2\n0->1 start 0 size 1\n", "m.cm: says 2 Connections but has 1"},
      {"Nodes 4\n0->1 trigger 9 size 1\n", "names trigger 9, which is not defined"},
      {"Nodes x\n", "m.cm:1: Nodes wants one number"},
      {"0->1 start 0 size 1\n", "Nodes comes first"},
      {"", "no line `Nodes N`"},
      {"Nodes 0\n", "m.cm:1: Nodes wants one number from 1 to 4194304"},
      {"Nodes 4194305\n", "m.cm:1: Nodes wants one number"},
      {"Nodes 4\nNodes 2\n", "m.cm:2: Nodes stands here twice"},
      {"Nodes 4\n0->1 start 0 start 1 size 1\n", "m.cm:2: start stands here twice"},
      {"Nodes 4\n0->1 size 1 start 0 size 2\n", "m.cm:2: size stands here twice"},
      {"Nodes 4\ntrigger id 1 id 2 oneshot\n", "m.cm:2: id stands here twice"},
      {"Nodes 4\ntrigger id 1 oneshot multishot\n", "m.cm:2: multishot stands here twice"},
      {"Nodes 4\n0->1 start 0 size 1.abc\n", "m.cm:2: size wants a number"},
      {"Nodes 4\n0->1 start 1. size 1\n", "m.cm:2: start wants a number"},
      {"Nodes 4\n0->1 start .5 size 1\n", "m.cm:2: start wants a number"},
      {"Nodes 4\n0->1 start 0 size\n", "m.cm:2: size wants a number"},
  };
  for (const auto& [text, expected] : cases) {
    const auto m = parse(text);
    ASSERT_FALSE(m) << text;
    EXPECT_NE(m.error().message.find(expected), std::string::npos) << m.error().message;
  }
}

TEST(Matrix, TextOfOthersIsQuotedInPartAndPrintable) {
  const std::string long_word(3'000'000, 'x');
  for (const std::string& text :
       {"Nodes 4\n\x1b[31mHACK 1\n" + std::string(), "Nodes 4\n" + long_word,
        "Nodes 4\n" + std::string(4000, 'y'), "Nodes 4\n0->1 " + std::string(4000, 'z') + " 1\n",
        std::string(4000, '9') + "->1 size 1\n", "Nodes 4\n0->1" + std::string(1, '\0') + " start 0 size 1\n",
        std::string(1'000'000, '\0')}) {
    const auto m = parse_matrix(text, "\x07.cm");
    ASSERT_FALSE(m);
    const std::string& said = m.error().message;
    EXPECT_LT(said.size(), 250U) << said;
    EXPECT_EQ(said, printable(said));
  }
  EXPECT_EQ(parse("Nodes 4\n" + long_word).error().message,
            "m.cm:2: a line of 3000000 bytes; the limit is 4096");
  EXPECT_TRUE(parse("Nodes 4\r\n  0->1\tstart 1500.25 size 1\r\n# " + std::string(4000, '#')));
}

TEST(Matrix, WhatIsWrittenIsReadBack) {
  Rng rng(3);
  for (const Matrix& m :
       {make_permutation(16, 2'000'000, rng), make_incast(16, 0, 15, 1000), make_ring_all_reduce(8, 1 << 20),
        make_mix(8, 50, 0.1, 1 << 20, 512, microseconds(100), rng)}) {
    std::stringstream text;
    write_matrix(text, m);
    const auto back = parse_matrix(text.str(), "m.cm");
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(back->connections.size(), m.connections.size());
    for (std::size_t i = 0; i < m.connections.size(); ++i) {
      EXPECT_EQ(back->connections[i].src, m.connections[i].src);
      EXPECT_EQ(back->connections[i].dst, m.connections[i].dst);
      EXPECT_EQ(back->connections[i].size_bytes, m.connections[i].size_bytes);
      EXPECT_EQ(back->connections[i].trigger, m.connections[i].trigger);
      EXPECT_EQ(back->connections[i].start, m.connections[i].start);
    }
    EXPECT_EQ(back->triggers.size(), m.triggers.size());
  }
}

TEST(Matrix, PermutationsHaveNoFixedPointAndReachEverybody) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    const Matrix m = make_permutation(17, 1, rng);
    std::set<std::uint32_t> reached;
    for (const Connection& c : m.connections) {
      EXPECT_NE(c.src, c.dst);
      reached.insert(c.dst);
    }
    EXPECT_EQ(reached.size(), 17U);
  }
}

TEST(Matrix, IncastAllToAllAndRingHaveTheirCounts) {
  EXPECT_EQ(make_incast(128, 5, 127, 1).connections.size(), 127U);
  EXPECT_EQ(make_all_to_all(8, 1).connections.size(), 56U);
  const Matrix ring = make_ring_all_reduce(8, 8000);
  EXPECT_EQ(ring.connections.size(), 14U * 8U);
  EXPECT_EQ(ring.total_bytes(), 14U * 8000U);
}

}  // namespace
}  // namespace mrc::sim
