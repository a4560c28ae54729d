// SPDX-License-Identifier: BSD-3-Clause
// Where two processes of one user find each other when nobody named the sockets of their planes.
#pragma once

#include <string>

#include "base/result.h"

namespace mrc::endpoint {

/// Of this user, whatever the environment of the two terminals.
[[nodiscard]] std::string socket_directory();

/// Makes it, or checks that it belongs to this user and that nobody else reaches into it: it lies where
/// everybody may write, and who could put sockets there would be the peer. Errors: what is wrong with it and
/// what mends it.
[[nodiscard]] Result<void> claim_socket_directory(const std::string& path);

}  // namespace mrc::endpoint
