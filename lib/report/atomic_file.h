// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace mrc::report {

/// Replaces `path` by `content` so that a reader sees the old file or the whole new one: written beside it,
/// synced, renamed. "-" is standard output. Errors name the file and the reason; the old file is untouched
/// then.
Result<void> write_file_atomically(const std::string& path, std::string_view content);

}  // namespace mrc::report
