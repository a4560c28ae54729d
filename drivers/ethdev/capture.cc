// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace mrc::ethdev {
namespace {

void flush_all() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(stdout);
  std::fflush(stderr);
}

void close_all(std::initializer_list<int> fds) {
  for (const int fd : fds) {
    if (fd >= 0) close(fd);
  }
}

// For an end of the process in the midst of a capture: nothing but descriptors, so that a signal handler may
// use them.
std::atomic<int> caught_fd{-1};
std::atomic<int> real_stderr{-1};

void tell_what_was_caught() {
  const int from = caught_fd.exchange(-1);
  const int to = real_stderr.exchange(-1);
  if (from < 0 || to < 0) return;
  char buffer[4096];
  off_t at = 0;
  for (ssize_t n = 0; (n = pread(from, buffer, sizeof(buffer), at)) > 0; at += n) {
    if (write(to, buffer, static_cast<std::size_t>(n)) < 0) return;
  }
}

void at_exit() {
  flush_all();
  tell_what_was_caught();
}

void on_abort(int signal) {
  tell_what_was_caught();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

OutputCapture::OutputCapture() {
  static const int registered = std::atexit(at_exit);
  static_cast<void>(registered);
  flush_all();
  memory_fd_ = memfd_create("captured-output", MFD_CLOEXEC);
  saved_stdout_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  saved_stderr_ = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
  if (memory_fd_ < 0 || saved_stdout_ < 0 || saved_stderr_ < 0) {
    close_all({memory_fd_, saved_stdout_, saved_stderr_});
    memory_fd_ = -1;
    return;
  }
  dup2(memory_fd_, STDOUT_FILENO);
  dup2(memory_fd_, STDERR_FILENO);
  real_stderr = saved_stderr_;
  caught_fd = memory_fd_;
  on_abort_before_ = std::signal(SIGABRT, on_abort);
}

OutputCapture::~OutputCapture() {
  stop();
}

std::string OutputCapture::stop() {
  if (memory_fd_ < 0) return {};
  flush_all();
  if (on_abort_before_ != SIG_ERR) std::signal(SIGABRT, on_abort_before_);
  caught_fd = real_stderr = -1;
  dup2(saved_stdout_, STDOUT_FILENO);
  dup2(saved_stderr_, STDERR_FILENO);
  std::string out;
  char buffer[4096];
  lseek(memory_fd_, 0, SEEK_SET);
  for (ssize_t n = 0; (n = read(memory_fd_, buffer, sizeof(buffer))) > 0;)
    out.append(buffer, static_cast<std::size_t>(n));
  close_all({memory_fd_, saved_stdout_, saved_stderr_});
  memory_fd_ = -1;
  return out;
}

}  // namespace mrc::ethdev
