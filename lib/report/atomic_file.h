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

/// Before the work whose result goes there: shows that `path` can be written, and removes what an earlier run
/// left, so that no reader takes it for this one's. "-", devices and pipes are left alone. Errors name the
/// file and the reason; nothing is changed then.
Result<void> claim_result_file(const std::string& path);

}  // namespace mrc::report
