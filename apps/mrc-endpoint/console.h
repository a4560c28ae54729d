// SPDX-License-Identifier: BSD-3-Clause
// What a person sees while it runs: start-up lines, a progress line that overwrites itself on a terminal,
// plain lines elsewhere.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "session.h"

namespace mrc::endpoint {

/// Thread rule: the main thread.
class Console {
 public:
  /// `quiet`: log() and progress() print nothing.
  explicit Console(bool quiet);
  /// A line to standard error.
  void log(const std::string& line);
  /// Ends the progress line, if one stands.
  void end_progress();
  /// Called often; prints every half second on a terminal, every five seconds elsewhere.
  void progress(const SessionProgress& p, Time now);

 private:
  const bool quiet_;
  const bool terminal_;
  bool line_open_ = false;
  Time next_;
  Time last_;
  std::uint64_t last_messages_ = 0;
  std::string last_phase_;
};

}  // namespace mrc::endpoint
