// SPDX-License-Identifier: BSD-3-Clause
#include "sim/simulation.h"

#include <gtest/gtest.h>

#include "path/profile.h"

namespace mrc::sim {
namespace {

struct World {
  std::shared_ptr<const path::EvTable> evs;
  std::vector<std::unique_ptr<cc::Qpcc>> qpccs;
  std::unique_ptr<Simulation> sim;
  QpSetup setup() {
    qpccs.push_back(std::make_unique<cc::Qpcc>(cc::FixedWindow(1 << 20)));
    QpSetup s;
    s.evs = evs;
    s.qpcc = qpccs.back().get();
    return s;
  }
};

World make(std::uint64_t seed) {
  fabric::ClosSpec clos;
  clos.tiers = 2;
  clos.planes = 4;
  clos.hosts = 4;
  clos.hosts_per_t0 = 2;
  clos.t1 = 4;
  for (fabric::PortConfig* p : {&clos.host_port, &clos.t0_down, &clos.t0_up, &clos.t1_down}) {
    p->rate_bps = 100'000'000'000;
    p->delay = microseconds(1);
  }
  auto topology = fabric::make_clos(clos);
  EXPECT_TRUE(topology);
  fabric::FabricConfig config;
  config.seed = seed;
  auto fabric = fabric::Fabric::create(std::move(*topology), config);
  EXPECT_TRUE(fabric);
  World w;
  std::vector<path::EvValue> values(64);
  std::vector<std::uint8_t> ports(64);
  for (std::size_t i = 0; i < 64; ++i) {
    values[i][0] = 0xC0;
    values[i][1] = static_cast<std::uint8_t>(i);
    ports[i] = static_cast<std::uint8_t>(i % 4);
  }
  auto table = path::EvTable::create(path::EvFormat::kUdp, path::EvOrder::kB, true, values, ports);
  EXPECT_TRUE(table);
  w.evs = std::make_shared<path::EvTable>(std::move(*table));
  SimOptions options;
  options.seed = seed;
  w.sim = std::make_unique<Simulation>(std::move(*fabric), options);
  return w;
}

TEST(Simulation, OneMessageCrossesFourPlanesAtLineRate) {
  World w = make(1);
  auto qp = w.sim->connect(0, w.setup(), 3, w.setup());
  ASSERT_TRUE(qp) << qp.error().message;
  const std::uint64_t bytes = 8 << 20;
  w.sim->send(*qp, bytes, Time{1});
  const RunEnd end = w.sim->run(Time{} + seconds(1));
  EXPECT_EQ(end.violation, "");
  const Flow& flow = w.sim->flows()[0];
  ASSERT_FALSE(flow.completed.is_never());
  const double gbps = static_cast<double>(bytes) * 8 / static_cast<double>((flow.completed - flow.start).ns);
  EXPECT_GT(gbps, 340) << "four planes of 100G";
  EXPECT_EQ(w.sim->qp(*qp).counters().tx_rtx, 0U);
}

// I3. A window that admits nothing, with nothing in flight to open it: seen when the message is posted.
TEST(Simulation, WhoOwesAMessageAndWaitsForNothingIsAViolation) {
  World w = make(1);
  QpSetup shut = w.setup();
  cc::Qpcc none(cc::FixedWindow(0));
  shut.qpcc = &none;
  auto qp = w.sim->connect(0, shut, 3, w.setup());
  ASSERT_TRUE(qp) << qp.error().message;
  w.sim->send(*qp, 1 << 20, Time{1000});
  const RunEnd end = w.sim->run(Time{} + seconds(1));
  EXPECT_NE(end.violation.find("(I3)"), std::string::npos) << end.violation;
  EXPECT_EQ(end.at.ns, 1000);
}

}  // namespace
}  // namespace mrc::sim
