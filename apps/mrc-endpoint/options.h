// SPDX-License-Identifier: BSD-3-Clause
// The command line. Every option that stands for a configuration key becomes one before the configuration is
// checked, so there is one set of limits and one set of messages.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/endpoint_config.h"
#include "exit_code.h"

namespace mrc::endpoint {

enum class Command { kServe, kRun, kLoopback };

struct Options {
  Command command = Command::kRun;
  config::EndpointConfig config;
  std::string json_path;    ///< empty: none; "-": standard output
  std::string report_path;  ///< of the HTML report; empty: none
  bool show_evs = false;
  bool quiet = false;
  bool print_config = false;
  bool check_config = false;
  std::string command_line;  ///< as typed, for the result
};

/// What parsing ends in when nothing is to be run: text and an exit code (help, errors).
struct EarlyExit {
  std::string text;
  ExitCode code = ExitCode::kPass;
  bool to_stderr = false;
};

struct Parsed {
  bool run = false;
  Options options;  ///< when run
  EarlyExit exit;   ///< otherwise
  /// A run was asked for and its result goes there (--json), whether it starts or not.
  std::string json_path;
};

/// `args` without the program's name.
Parsed parse_command_line(const std::vector<std::string>& args);

}  // namespace mrc::endpoint
