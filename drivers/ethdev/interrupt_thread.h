// SPDX-License-Identifier: BSD-3-Clause
// Work done where EAL runs the drivers' interrupt callbacks. memif keeps its connections in such callbacks,
// without a lock against starting or stopping its port elsewhere: whoever wants to do that must stand in the
// same queue.
#pragma once

#include <functional>

#include "base/result.h"

namespace mrc::ethdev {

/// Runs `work` on EAL's interrupt thread and returns when it is done; at once when the caller is that thread.
/// Any thread, after EAL has started. Errors: EAL takes no alarm (out of memory), or the thread is busy for
/// two seconds; `work` does not run then.
Result<void> on_interrupt_thread(const std::function<void()>& work);

}  // namespace mrc::ethdev
