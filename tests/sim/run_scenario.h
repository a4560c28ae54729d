// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/outcome.h"
#include "sim/scenario.h"
#include "sim/world.h"

namespace mrc::sim {

/// A scenario from its text to its outcome; one that cannot be made fails the test.
inline Outcome run(const std::string& text, const config::Settings& settings = {}) {
  const auto s = load_scenario_text(text, "test", settings);
  EXPECT_TRUE(s) << s.error().message;
  auto world = World::create(*s);
  EXPECT_TRUE(world) << world.error().message;
  const RunEnd end = (*world)->run();
  return collect(**world, end, "test");
}

}  // namespace mrc::sim
