// SPDX-License-Identifier: BSD-3-Clause
// What is left when something before the first packet goes wrong.
#pragma once

#include <optional>
#include <string>

#include "exit_code.h"
#include "signals.h"

namespace mrc::endpoint {

struct Failure {
  ExitCode code;
  std::string message;
};

/// A signal is the reason for whatever failed after it.
inline std::optional<Failure> or_interrupted(std::optional<Failure> failure) {
  if (signals_seen() == 0) return failure;
  return Failure{ExitCode::kTestFailed, "interrupted while setting up"};
}

}  // namespace mrc::endpoint
