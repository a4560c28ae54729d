// SPDX-License-Identifier: BSD-3-Clause
// How far apart two CPUs are at the moment: a cache line handed to and fro. Printed beside every figure that
// uses two cores; on virtual machines it moves by a factor of ten within minutes.
#pragma once

#include <string>

namespace mrc::perf {

struct C2c {
  bool measured = false;  ///< false: only one CPU is allowed here
  unsigned cpu_a = 0, cpu_b = 0;
  double one_way_ns = 0;  ///< median over blocks of hand-overs
  [[nodiscard]] std::string text() const;
};

/// Takes about 20 ms. Uses two threads of its own; the caller's affinity stays.
C2c measure_c2c();

}  // namespace mrc::perf
