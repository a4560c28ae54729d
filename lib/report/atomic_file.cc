// SPDX-License-Identifier: BSD-3-Clause
#include "report/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mrc::report {
namespace {

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Error failure(const std::string& path, const char* what) {
  return Error{fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

}  // namespace

Result<void> claim_result_file(const std::string& path) {
  if (path == "-") return {};
  struct stat st {};
  const bool exists = ::lstat(path.c_str(), &st) == 0;
  if (exists && S_ISDIR(st.st_mode)) {
    errno = EISDIR;
    return failure(path, "cannot be written");
  }
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return {};
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failure(path, "cannot be created");
  ::close(fd);
  ::unlink(temporary.c_str());
  if (exists && ::unlink(path.c_str()) != 0) return failure(path, "an older result cannot be removed");
  return {};
}

Result<void> write_file_atomically(const std::string& path, std::string_view content) {
  if (path == "-") {
    if (!write_all(STDOUT_FILENO, content)) return failure("standard output", "cannot be written");
    return {};
  }
  // A device or a pipe (/dev/stderr, /dev/full) has no old content to protect, and renaming would replace it.
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const bool ok = fd >= 0 && write_all(fd, content);
    const Error error = failure(path, "cannot be written");
    if (fd >= 0) ::close(fd);
    if (!ok) return error;
    return {};
  }
  std::string temporary = path + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failure(path, "cannot be created");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const bool written = write_all(fd, content) && ::fchmod(fd, 0666 & ~mask) == 0 && ::fsync(fd) == 0;
  const Error write_error = failure(path, "cannot be written");
  ::close(fd);
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = written ? failure(path, "cannot be replaced") : write_error;
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

}  // namespace mrc::report
