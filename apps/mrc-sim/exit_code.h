// SPDX-License-Identifier: BSD-3-Clause
// How the program ends. Scripts rely on these numbers; README.md documents them.
#pragma once

namespace mrc::simapp {

enum class ExitCode : int {
  kPass = 0,
  kFailed = 1,  ///< it ran, and a check or an invariant did not hold
  kUsage = 2,   ///< options, files or input lines
};

}  // namespace mrc::simapp
