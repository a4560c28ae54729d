// SPDX-License-Identifier: BSD-3-Clause
// The preset htsim-compat beside what the UEC's simulator publishes for the same setting: one row an
// experiment, several matrices a row, a limit that each row must keep.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/outcome.h"

namespace mrc::sim {

/// Packets of one run; 0: nothing published.
struct PacketCounts {
  std::uint64_t fresh = 0, rtx = 0, ack = 0, nack = 0;
};

/// An experiment. Times are those of the last flow.
struct HtsimRow {
  std::string name;
  config::Settings settings;  ///< over `preset: htsim-compat`
  double published_us = 0;    ///< 0: none
  PacketCounts published;
  double low = 0;      ///< median over ideal must not be below; 0: no such limit
  double median = 0;   ///< nor above
  double worst = 0;    ///< no matrix above; 0: only the median is limited
  bool large = false;  ///< 1024 hosts: minutes
  std::string note{};  ///< why its counts may differ from the published ones by more than kCountRatio
};

/// How far our median counts may be from the published ones, either way.
inline constexpr double kCountRatio = 1.5;

/// With fewer matrices a median says little, and what a limit says about it nothing: only `worst` is judged.
inline constexpr std::size_t kJudgedMatrices = 10;

struct HtsimResult {
  std::vector<double> tail_us;       ///< by seed
  std::vector<double> over_ideal;    ///< by seed
  std::vector<PacketCounts> counts;  ///< by seed
  std::uint64_t hops = 0;
  std::vector<std::string> failures;
  [[nodiscard]] double median_us() const;
  [[nodiscard]] double median_over_ideal() const;
  [[nodiscard]] double worst_over_ideal() const;
  [[nodiscard]] PacketCounts median_counts() const;  ///< each for itself
};

/// All rows of the table, in its order. `host_names`: settings of a network size.
std::vector<HtsimRow> htsim_rows();
/// Rows that come in pairs: the first must take at most `ratio` of the second's time in every matrix.
struct HtsimPair {
  std::string better, worse;
  double ratio = 0;
};
std::vector<HtsimPair> htsim_pairs();
const HtsimRow& row_named(const std::vector<HtsimRow>& rows, std::string_view name);

/// One run.
Result<Outcome> run_htsim(const HtsimRow& row, std::uint64_t seed);
/// Seeds first .. first + seeds - 1, and what the row's limits say about them.
HtsimResult run_row(const HtsimRow& row, std::uint64_t first, unsigned seeds);
/// Adds a run; then judge(), which leaves medians of fewer than kJudgedMatrices alone.
void add_run(HtsimResult& result, const Result<Outcome>& outcome);
void judge(const HtsimRow& row, HtsimResult& result);

/// "mrc-sim run ..." that runs one matrix of a row.
std::string command_of(const std::string& program, const HtsimRow& row, std::uint64_t seed);
/// Lines of the table, the header first.
std::string table_header();
std::string table_line(const HtsimRow& row, const HtsimResult& result);

}  // namespace mrc::sim
