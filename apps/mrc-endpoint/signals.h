// SPDX-License-Identifier: BSD-3-Clause
// The signals that end a run.
#pragma once

namespace mrc::endpoint {

/// Catches SIGINT, SIGTERM and SIGHUP: the first asks to stop, the second ends the process at once. SIGPIPE
/// is ignored.
void catch_signals();
/// The process ends with `code` after `seconds` at the latest, whatever the clean-up that follows is waiting
/// for: a driver that closes a virtio-user port waits for its vhost peer, and that one may be stopped.
void exit_within(unsigned seconds, int code);
/// Number of signals so far.
const volatile int& signals_seen();

}  // namespace mrc::endpoint
