// SPDX-License-Identifier: BSD-3-Clause
// How far apart two CPUs are at the moment: a cache line handed to and fro. Printed beside every figure that
// uses two cores; on virtual machines it moves by a factor of ten within minutes.
#pragma once

namespace mrc::perf {

/// Nanoseconds one way, the median over blocks of hand-overs. Takes about 20 ms. Uses two threads of its own;
/// the caller's affinity stays.
double measure_c2c_ns(unsigned cpu_a, unsigned cpu_b);

}  // namespace mrc::perf
