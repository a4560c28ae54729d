// SPDX-License-Identifier: BSD-3-Clause
// From what sessions found to one result: merged, judged, printed, written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exchange.h"
#include "exit_code.h"
#include "options.h"
#include "report/result.h"

namespace mrc::endpoint {

/// The result's head: who, when, where.
report::RunResult start_result(const Options& options, std::uint64_t seed);

/// In loopback both ends were ours: the receiver's findings join the sender's result, which says of which
/// members it holds the sums.
void merge_receiver(report::PhaseResult& run, const report::PhaseResult& serve);

/// Decides pass or fail and the exit code. `failure`: why the session ended early. `capture_failure`: why the
/// capture is not what it should be; empty: it is, or there is none.
ExitCode judge(report::RunResult& result, const std::optional<ExchangeFailure>& failure,
               const std::string& capture_failure);

/// JSON to its file, then the table, which tells of it, to standard output (standard error when the JSON goes
/// there). An unwritable file makes the exit code kUsage when it was a pass.
ExitCode publish(report::RunResult& result, const Options& options, ExitCode code);

/// The file alone, for a run that never began.
ExitCode publish_json(report::RunResult& result, const Options& options, ExitCode code);

}  // namespace mrc::endpoint
