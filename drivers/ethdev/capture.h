// SPDX-License-Identifier: BSD-3-Clause
// Keeps what C libraries write to stdout and stderr, so that their words become part of an error of ours
// instead of noise on the terminal.
#pragma once

#include <string>

namespace mrc::ethdev {

/// From construction to stop(), file descriptors 1 and 2 of the process lead into memory. Set-up code on one
/// thread; not to be nested. Should the process end meanwhile (exit or abort of a library), what was caught
/// goes to stderr after all. If memory for it cannot be had, output simply stays where it was.
class OutputCapture {
 public:
  OutputCapture();
  ~OutputCapture();
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;

  /// Restores the descriptors; returns what was written meanwhile. A second call returns "".
  std::string stop();

 private:
  int memory_fd_ = -1;
  int saved_stdout_ = -1;
  int saved_stderr_ = -1;
  void (*on_abort_before_)(int) = nullptr;
};

}  // namespace mrc::ethdev
