// SPDX-License-Identifier: BSD-3-Clause
// Small EV tables and other shorthand of the tests of this directory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/time.h"
#include "path/ev_table.h"

namespace mrc::path {

inline constexpr std::uint32_t kAll = ~0U;  ///< every port is free

constexpr Time at_us(std::int64_t us) {
  return Time{} + microseconds(us);
}

/// A value whose first bytes are `bytes`.
inline EvValue value_of(std::initializer_list<int> bytes) {
  EvValue v{};
  std::size_t i = 0;
  for (const int b : bytes) v[i++] = static_cast<std::uint8_t>(b);
  return v;
}

/// STEV table of `evs` distinct values, EV i on plane i % planes.
inline std::shared_ptr<const EvTable> table_of(std::size_t evs, std::size_t planes) {
  std::vector<EvValue> values;
  std::vector<std::uint8_t> ports;
  for (std::size_t i = 0; i < evs; ++i) {
    values.push_back(value_of({static_cast<int>(i >> 8), static_cast<int>(i & 0xFF), 0, 1}));
    ports.push_back(static_cast<std::uint8_t>(i % planes));
  }
  auto table = EvTable::create(EvFormat::kStev, EvOrder::kB, true, values, ports);
  EXPECT_TRUE(table) << table.error().message;
  return std::make_shared<const EvTable>(std::move(*table));
}

}  // namespace mrc::path
