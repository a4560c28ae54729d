// SPDX-License-Identifier: BSD-3-Clause
#include "sim/htsim_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "sim/median.h"

namespace mrc::sim {

namespace {

using config::Settings;

Settings hosts(unsigned n) {
  const auto size = [](const char* count, const char* radix) {
    return Settings{{"network.hosts", count},
                    {"network.hosts_per_t0", radix},
                    {"network.t1", radix},
                    {"network.t0_per_pod", radix},
                    {"network.t2_per_t1", radix}};
  };
  return n == 16 ? size("16", "2") : n == 128 ? size("128", "4") : size("1024", "8");
}

Settings with(Settings base, const Settings& more) {
  base.insert(base.end(), more.begin(), more.end());
  return base;
}

Settings incast(unsigned senders) {
  return with(hosts(senders < 16 ? 16 : 128), {{"workload.shape", "incast"},
                                               {"workload.dst", senders < 16 ? "15" : "127"},
                                               {"workload.senders", fmt::format("{}", senders)}});
}

void add_incasts(std::vector<HtsimRow>& rows) {
  struct Published {
    unsigned senders;
    double on_us;
    PacketCounts on;
    double off_us;
    std::uint64_t off_nacks;
    double off_limit;
  };
  // Marks at the last hop on and off; published without counts of ACKs where only NACKs are told.
  const Published all[] = {{2, 338.9, {980, 44, 0, 44}, 339.8, 138, 1.05},
                           {8, 1342, {}, 0, 0, 1.05},
                           {15, 2478.5, {7350, 811, 7131, 811}, 2467.7, 3784, 1.05},
                           {32, 5226.4, {15680, 2245, 0, 2245}, 5314.5, 11912, 1.05},
                           {64, 0, {}, 0, 0, 1.08},
                           {127, 21029.3, {62230, 72623, 62126, 72623}, 0, 0, 1.08}};
  for (const Published& p : all) {
    rows.push_back({fmt::format("incast {}:1, marks at the last hop", p.senders), incast(p.senders), p.on_us,
                    p.on, 0, 1.05, 0, false});
    rows.push_back({fmt::format("incast {}:1, none there", p.senders),
                    with(incast(p.senders), {{"queues.ecn_last_hop", "false"}}),
                    p.off_us,
                    {0, p.off_nacks, 0, p.off_nacks},
                    0,
                    p.off_limit,
                    0,
                    false});
  }
  // What the late seeds of the row without it wait for, shown by its absence (lib/sim/RESULTS.md).
  rows.push_back({"incast 15:1, none there, tail probe",
                  with(incast(15), {{"queues.ecn_last_hop", "false"}, {"detect.tail_probe", "true"}}),
                  2467.7,
                  {0, 3784, 0, 3784},
                  0,
                  1.05,
                  1.05,
                  false});
}

void add_permutations(std::vector<HtsimRow>& rows) {
  const Settings mrc{{"paths.selector", "mrc"}};
  const Settings oblivious{{"paths.selector", "oblivious"}};
  const Settings reps{{"paths.selector", "reps"}};
  const Settings single{{"paths.selector", "single"}};
  const Settings slow{{"slow_links.number", "8"}};
  rows.push_back({"permutation 16, score", hosts(16), 194.0, {7840, 0, 2547, 0}, 0, 1.12, 1.18, false});
  rows.push_back(
      {"permutation 16, mrc", with(hosts(16), mrc), 194.0, {7840, 0, 2547, 0}, 0, 1.12, 1.18, false});
  rows.push_back({"permutation 16, one EV",
                  with(hosts(16), single),
                  527.8,
                  {7840, 279, 6083, 279},
                  2.0,
                  3.6,
                  99,
                  false});
  rows.push_back({"permutation 128, score", hosts(128), 201, {}, 0, 1.15, 1.20, false});
  rows.push_back({"permutation 128, mrc", with(hosts(128), mrc), 201, {}, 0, 1.15, 1.20, false});
  rows.push_back({"permutation 128, reps", with(hosts(128), reps), 204, {}, 0, 1.25, 1.35, false});
  rows.push_back({"permutation 128, oblivious", with(hosts(128), oblivious), 232, {}, 0, 1.5, 1.7, false});
  rows.push_back({"permutation 128, one EV", with(hosts(128), single), 0, {}, 3.5, 5.5, 99, false});
  rows.push_back({"8 slow links 128, score", with(hosts(128), slow), 303, {}, 0, 3, 4, false});
  rows.push_back({"8 slow links 128, mrc", with(with(hosts(128), slow), mrc), 303, {}, 0, 3, 4, false});
  rows.push_back({"8 slow links 128, reps", with(with(hosts(128), slow), reps), 367, {}, 0, 3, 4, false});
  rows.push_back(
      {"8 slow links 128, oblivious", with(with(hosts(128), slow), oblivious), 527, {}, 0, 4, 5, false});
  rows.push_back({"permutation 1024, score", hosts(1024), 200.5, {501760, 0, 170700, 0}, 0, 1.2, 1.25, true});
  rows.push_back(
      {"permutation 1024, mrc", with(hosts(1024), mrc), 200.5, {501760, 0, 170700, 0}, 0, 1.2, 1.25, true});
  rows.push_back({"permutation 1024, one EV",
                  with(hosts(1024), single),
                  889.9,
                  {501760, 25621, 393298, 25621},
                  4,
                  6,
                  99,
                  true});
}

std::string count_column(std::uint64_t ours, std::uint64_t theirs) {
  return theirs == 0 ? fmt::format("{}", ours) : fmt::format("{}/{}", ours, theirs);
}

}  // namespace

std::vector<HtsimRow> htsim_rows() {
  std::vector<HtsimRow> rows;
  rows.push_back({"one flow of 2 MB",
                  with(hosts(16), {{"workload.shape", "point_to_point"}, {"workload.dst", "15"}}),
                  176.2,
                  {490, 0, 124, 0},
                  0,
                  1.08,
                  0,
                  false});
  add_incasts(rows);
  add_permutations(rows);
  return rows;
}

std::vector<HtsimPair> htsim_pairs() {
  return {{"8 slow links 128, score", "8 slow links 128, oblivious", 0.75},
          {"8 slow links 128, mrc", "8 slow links 128, oblivious", 0.75}};
}

const HtsimRow& row_named(const std::vector<HtsimRow>& rows, std::string_view name) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const HtsimRow& r) { return r.name == name; });
  assert(at != rows.end());
  return *at;
}

double HtsimResult::median_us() const {
  return median_of(tail_us);
}
double HtsimResult::median_over_ideal() const {
  return median_of(over_ideal);
}
double HtsimResult::worst_over_ideal() const {
  return over_ideal.empty() ? 0 : *std::max_element(over_ideal.begin(), over_ideal.end());
}

PacketCounts HtsimResult::median_counts() const {
  const auto median = [&](std::uint64_t PacketCounts::*field) {
    std::vector<double> all;
    for (const PacketCounts& c : counts) all.push_back(static_cast<double>(c.*field));
    return static_cast<std::uint64_t>(median_of(std::move(all)));
  };
  return {median(&PacketCounts::fresh), median(&PacketCounts::rtx), median(&PacketCounts::ack),
          median(&PacketCounts::nack)};
}

Result<Outcome> run_htsim(const HtsimRow& row, std::uint64_t seed) {
  Settings settings = row.settings;
  settings.emplace_back("seed", fmt::format("{}", seed));
  auto scenario = load_scenario_text("preset: htsim-compat\n", row.name, settings);
  if (!scenario) return scenario.error();
  auto world = World::create(*scenario);
  if (!world) return world.error();
  const RunEnd end = (*world)->run();
  return collect(**world, end, row.name);
}

void add_run(HtsimResult& result, const Result<Outcome>& run) {
  if (!run) {
    result.failures.push_back(run.error().message);
    return;
  }
  if (!run->pass() || !run->quiet)
    result.failures.push_back(
        fmt::format("seed {}: {}", run->seed, run->pass() ? "did not come to rest" : run->verdict()));
  result.tail_us.push_back(static_cast<double>(run->fct.max_ns) / 1e3);
  result.over_ideal.push_back(run->tail_over_ideal());
  result.hops += run->hops;
  result.counts.push_back({run->count(run->packets, "new"), run->count(run->packets, "rtx"),
                           run->count(run->packets, "sack"), run->count(run->packets, "nack")});
}

void judge(const HtsimRow& row, HtsimResult& r) {
  const auto fail = [&](std::string what) { r.failures.push_back(std::move(what)); };
  if (r.tail_us.empty()) return fail("nothing was run");
  if (row.worst > 0 && r.worst_over_ideal() > row.worst)
    fail(fmt::format("worst {:.3f} of ideal, limit {}", r.worst_over_ideal(), row.worst));
  if (r.tail_us.size() < kJudgedMatrices) return;
  const double median = r.median_over_ideal();
  if (row.median > 0 && median > row.median)
    fail(fmt::format("median {:.3f} of ideal, limit {}", median, row.median));
  if (median < row.low) fail(fmt::format("median {:.3f} of ideal, at least {} expected", median, row.low));
  if (!row.note.empty()) return;
  const PacketCounts ours = r.median_counts();
  const auto compare = [&](const char* what, std::uint64_t mine, std::uint64_t published) {
    const double ratio = static_cast<double>(mine) / static_cast<double>(published);
    if (published != 0 && (ratio > kCountRatio || ratio < 1 / kCountRatio))
      fail(fmt::format("{} {} packets, published {}: more than a factor {} apart", mine, what, published,
                       kCountRatio));
  };
  compare("new", ours.fresh, row.published.fresh);
  compare("retransmitted", ours.rtx, row.published.rtx);
  compare("SACK", ours.ack, row.published.ack);
  compare("NACK", ours.nack, row.published.nack);
}

HtsimResult run_row(const HtsimRow& row, std::uint64_t first, unsigned seeds) {
  HtsimResult result;
  for (unsigned i = 0; i < seeds; ++i) add_run(result, run_htsim(row, first + i));
  judge(row, result);
  return result;
}

std::string command_of(const std::string& program, const HtsimRow& row, std::uint64_t seed) {
  std::string out = fmt::format("{} run config/sim/htsim-16.yaml --seed {}", program, seed);
  for (const auto& [key, value] : row.settings) out += fmt::format(" --set {}={}", key, value);
  return out;
}

std::string table_header() {
  return fmt::format("{:<36} {:>26} {:>16} {:>9} {:>6}  {:>13} {:>13} {:>13} {:>13}\n", "experiment",
                     "tail us: median (min..max)", "of ideal: median,", "published", "ratio", "new", "rtx",
                     "SACK", "NACK") +
         fmt::format("{:<36} {:>26} {:>16} {:>9} {:>6}  {:>55}\n", "", "", "worst (limit)", "us", "",
                     "medians, ours/published");
}

std::string table_line(const HtsimRow& row, const HtsimResult& r) {
  if (r.tail_us.empty()) return fmt::format("{:<36} {}\n", row.name, fmt::join(r.failures, "; "));
  const auto [lo, hi] = std::minmax_element(r.tail_us.begin(), r.tail_us.end());
  const std::string tail = fmt::format("{:.1f} ({:.1f}..{:.1f})", r.median_us(), *lo, *hi);
  const std::string ideal =
      fmt::format("{:.3f}, {:.3f} ({})", r.median_over_ideal(), r.worst_over_ideal(), row.median);
  const std::string published = row.published_us > 0 ? fmt::format("{:.1f}", row.published_us) : "-";
  const std::string ratio =
      row.published_us > 0 ? fmt::format("{:.3f}", r.median_us() / row.published_us) : "-";
  const PacketCounts counts = r.median_counts();
  return fmt::format("{:<36} {:>26} {:>20} {:>8} {:>6}  {:>13} {:>13} {:>13} {:>13}{}\n", row.name, tail,
                     ideal, published, ratio, count_column(counts.fresh, row.published.fresh),
                     count_column(counts.rtx, row.published.rtx), count_column(counts.ack, row.published.ack),
                     count_column(counts.nack, row.published.nack),
                     r.failures.empty() ? "" : "  FAIL: " + fmt::format("{}", fmt::join(r.failures, "; ")));
}

}  // namespace mrc::sim
