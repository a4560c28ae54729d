// SPDX-License-Identifier: BSD-3-Clause
#include "cc_command.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

#include "cc_model.h"

namespace mrc::simapp {
namespace {

/// A line without its end. False at the end of input. Keeps at most one byte more than a line may have, so
/// that a line that is too long is refused, not gathered.
bool read_line(std::istream& in, std::string& line) {
  line.clear();
  std::streambuf& buffer = *in.rdbuf();
  constexpr int kEnd = std::char_traits<char>::eof();
  for (int c = buffer.sbumpc(); c != kEnd; c = buffer.sbumpc()) {
    if (c == '\n') return true;
    if (line.size() > kMaxLineBytes) return true;
    line += static_cast<char>(c);
  }
  return !line.empty();
}

bool is_blank(const std::string& line) {
  return line.size() <= kMaxLineBytes && line.find_first_not_of(" \t\r") == std::string::npos;
}

struct CcOptions {
  std::string file = "-";
};

ExitCode run_file(const CcOptions& o) {
  if (o.file == "-") return run_cc(std::cin, "standard input", std::cout, std::cerr);
  std::ifstream in(o.file);
  if (!in) {
    std::cerr << "mrc-sim cc: " << o.file << ": " << std::strerror(errno)
              << ": name a readable file, or - for standard input\n";
    return ExitCode::kUsage;
  }
  return run_cc(in, o.file, std::cout, std::cerr);
}

}  // namespace

ExitCode run_cc(std::istream& in, const std::string& name, std::ostream& out, std::ostream& err) {
  CcModel model;
  std::string line;
  std::uint64_t number = 0;
  const auto fail = [&](const std::string& message) {
    out.flush();
    err << "mrc-sim cc: " << name << ": line " << number << ": " << message << '\n';
    return ExitCode::kUsage;
  };
  try {
    while (read_line(in, line)) {
      ++number;
      if (is_blank(line)) continue;
      const auto answer = model.apply(line);
      if (!answer) return fail(answer.error().message);
      out << *answer << '\n';
      if (in.rdbuf()->in_avail() <= 0) out.flush();
      if (!out) return fail("its answer cannot be written: is the disk full?");
    }
    if (!model.configured()) return fail("there is none; the first line configures, see mrc-sim cc --help");
    out.flush();
    return out ? ExitCode::kPass : fail("its answer cannot be written: is the disk full?");
  } catch (const std::ios_base::failure&) {  // what the library throws for a directory
    return fail("reading on fails: name a readable file, or - for standard input");
  }
}

void add_cc_command(CLI::App& app, ExitCode& exit_code) {
  auto* command = app.add_subcommand("cc",
                                     "NSCC as a golden model: JSON lines in (a configuration, then events), "
                                     "the complete state after each out");
  auto options = std::make_shared<CcOptions>();
  command->add_option("FILE", options->file, "Input lines; - is standard input")->capture_default_str();
  command->footer(
      "Try:  printf '%s\\n' '{\"rate_bps\":100e9,\"base_rtt_ns\":12000,\"mtu_bytes\":4096}' \\\n"
      "        '{\"t_ns\":1000,\"event\":\"ack\",\"bytes\":4096,\"delay_ns\":3000}' | mrc-sim cc\n"
      "Keys and number format: README.md beside the program's source.");
  command->callback([options, &exit_code] { exit_code = run_file(*options); });
}

}  // namespace mrc::simapp
