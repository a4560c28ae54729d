// SPDX-License-Identifier: BSD-3-Clause
#include "socket_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mrc::endpoint {

std::string socket_directory() {
  return fmt::format("/tmp/softmrc-{}", geteuid());
}

Result<void> claim_socket_directory(const std::string& path) {
  constexpr mode_t kOnlyOwner = 0700;
  if (mkdir(path.c_str(), kOnlyOwner) != 0 && errno != EEXIST)
    return Error{fmt::format("directory {} for the sockets of the planes: {}; name them with --device", path,
                             std::strerror(errno))};
  struct stat st {};
  const bool ours = lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
  if (ours && (st.st_mode & 0777 & ~kOnlyOwner) == 0) return {};
  return Error{
      fmt::format("{} is to hold the sockets of the planes, but it {}; {}, or name the sockets with --device",
                  path, ours ? "is open to others" : "is no directory of this user",
                  ours ? fmt::format("chmod 700 {}", path) : std::string("remove it"))};
}

}  // namespace mrc::endpoint
