// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
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

}  // namespace

OutputCapture::OutputCapture() {
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
}

OutputCapture::~OutputCapture() {
  stop();
}

std::string OutputCapture::stop() {
  if (memory_fd_ < 0) return {};
  flush_all();
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
