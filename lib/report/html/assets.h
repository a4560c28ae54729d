// SPDX-License-Identifier: BSD-3-Clause
// The style sheet and the script that every page carries.
#pragma once

namespace mrc::report::html {

extern const char* const kStyle;
extern const char* const kScript;

}  // namespace mrc::report::html
