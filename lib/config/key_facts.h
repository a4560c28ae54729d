// SPDX-License-Identifier: BSD-3-Clause
// Of every configuration key its default and its limits in a few words, for the help of options that stand
// for keys.
#pragma once

#include <map>
#include <string>

namespace mrc::config {

/// "workload.depth" -> "default 0; 0 to 32768". Keys of list items are left out.
std::map<std::string, std::string> key_facts();

}  // namespace mrc::config
