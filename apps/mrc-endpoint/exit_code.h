// SPDX-License-Identifier: BSD-3-Clause
// How the program ends. Scripts rely on these numbers; README.md documents them.
#pragma once

namespace mrc::endpoint {

enum class ExitCode : int {
  kPass = 0,
  kTestFailed = 1,    ///< it ran, and bytes, counters or samples are not what they must be
  kUsage = 2,         ///< options or configuration
  kPeer = 3,          ///< no peer, refused, gone, or it does not keep to the exchange
  kTransport = 4,     ///< a QP went to ERROR, or no plane is left
  kUnsupported = 77,  ///< this machine cannot do it; test runners count it as skipped
};

}  // namespace mrc::endpoint
