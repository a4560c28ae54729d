// SPDX-License-Identifier: BSD-3-Clause
// What a person has to type to start this program again, so that a command in a message works as it stands.
#pragma once

#include <string>

namespace mrc::endpoint {

/// Once, in main: argv[0] as it was typed.
void set_program_name(const char* argv0);
/// Quoted for a shell where it has to be; "mrc-endpoint" when main said nothing.
const std::string& program_name();

}  // namespace mrc::endpoint
