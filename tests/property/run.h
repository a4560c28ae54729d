// SPDX-License-Identifier: BSD-3-Clause
// One scenario from start to end in virtual time.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "scenario.h"

namespace mrc::property {

struct RunOptions {
  std::FILE* trace = nullptr;
  std::uint32_t burst = 32;       ///< descriptors asked for per call; rounds carry up to 32 either way
  std::int32_t number_shift = 0;  ///< added to first PSN, MSN, RQMSN and rcvd_bytes
  Duration clock_shift;           ///< a multiple of 128 ns
  std::uint16_t ev_names = 0;     ///< turns these bits, of the low 12, in the source port of every EV
};

struct RunResult {
  bool ok = false;
  std::string failure;  ///< "I4: ..." and so on
  std::uint64_t trace_hash = 0;
  std::uint64_t trace_events = 0;
  std::uint64_t packets = 0;
  std::uint64_t retransmissions = 0;
  Duration virtual_time;
};

RunResult run(Scenario scenario, const RunOptions& options = {});

}  // namespace mrc::property
