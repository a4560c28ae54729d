// SPDX-License-Identifier: BSD-3-Clause
// `mrc-endpoint demo`: options, EAL, printing.
#include <fmt/format.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/program_name.h"
#include "demo.h"
#include "demo_page.h"
#include "ethdev/eal.h"
#include "report/atomic_file.h"
#include "report/say.h"
#include "signals.h"

namespace mrc::endpoint {

namespace {

double giga(double bps) {
  return bps * 1e-9;
}

/// Refuses what the library would take as a very large number.
const CLI::Validator kNotNegative(
    [](const std::string& text) { return text.starts_with('-') ? text + " is negative" : std::string(); },
    "");

/// How much of what was asked for is moved: a line that overwrites itself on a terminal, one now and then
/// elsewhere.
class Percent {
 public:
  ~Percent() {
    if (open_) report::say(stderr, "\n");
  }
  void show(double progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + (terminal_ ? std::chrono::milliseconds(500) : std::chrono::milliseconds(5000));
    if (std::exchange(begun_, true) == false) return;  // a run of seconds needs none
    if (terminal_) std::fputc('\r', stderr);
    report::say(stderr, "  {:3.0f} %{}{}", std::floor(100 * progress),
                progress >= 1 ? " and on, until data is back on the path that died" : "",
                terminal_ ? "" : "\n");
    std::fflush(stderr);
    open_ = terminal_;
  }

 private:
  const bool terminal_ = ::isatty(STDERR_FILENO) == 1;
  bool begun_ = false;
  bool open_ = false;
  std::chrono::steady_clock::time_point next_{};
};

ExitCode fail(const std::string& message, ExitCode code) {
  report::say(stderr, "mrc-endpoint demo: {}\n", message);
  return code;
}

struct Arguments {
  DemoOptions demo;
  std::string json_path;
  std::string report_path;
};

/// The exit code when there is nothing to run.
std::optional<ExitCode> parse(const std::vector<std::string>& args, Arguments& a) {
  DemoOptions& o = a.demo;
  double delay_us = static_cast<double>(o.delay.ns) * 1e-3;
  double loss_percent = 100 * o.loss;
  const std::map<std::string, config::CcMode> kModes{
      {"off", config::CcMode::kOff}, {"fixed", config::CcMode::kFixed}, {"nscc", config::CcMode::kNscc}};
  std::string cc = "nscc";
  CLI::App app{
      "Two endpoints in one process, one QP over all paths; one path dies and returns, another loses "
      "packets.\n"
      "What must hold is checked and printed; the exit code is 0 only when all of it does.",
      program_name() + " demo"};
  app.add_option("--bytes", o.bytes,
                 "bytes to move at least, to 1TB: 512MB, 2GiB ... The smallest follows from delay, planes "
                 "and paths: 64MB as "
                 "they are, 501MB with 2000 us")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->default_str("2GiB");
  app.add_option("--seed", o.seed, "all randomness")
      ->check(kNotNegative)
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--planes", o.planes, "planes, 2 to 16")
      ->check(kNotNegative)
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--paths", o.paths, "paths of each plane, 4 or more; at most 128 in all")
      ->check(kNotNegative)
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--delay-us", delay_us, "of each path, one way; 100 to 2000")
      ->type_name("US")
      ->capture_default_str();
  app.add_option("--loss-percent", loss_percent, "of one path; 0 to 10")
      ->type_name("PERCENT")
      ->capture_default_str();
  app.add_option("--cc", cc, "congestion control: off, fixed or nscc")
      ->type_name("MODE")
      ->capture_default_str();
  app.add_option("--path-gbps", o.path_gbps,
                 "rate of each path, with a queue that marks and trims, 0.05 to 100; 0: no limit")
      ->type_name("GBPS")
      ->capture_default_str();
  app.add_option("--json", a.json_path, "write the result as JSON to this file; - for standard output");
  app.add_option("--report", a.report_path, "write the run as plots over time to this HTML file")
      ->take_last();
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    report::say(stdout, "{}", app.help());
    return ExitCode::kPass;
  } catch (const CLI::ParseError& e) {
    return fail(fmt::format("{}\nTry '{} demo --help'.", e.what(), program_name()), ExitCode::kUsage);
  }
  const auto mode = kModes.find(cc);
  if (mode == kModes.end())
    return fail(fmt::format("--cc {}: give off, fixed or nscc", cc), ExitCode::kUsage);
  o.cc = mode->second;
  if (!(std::abs(delay_us) < 1e9))
    return fail(fmt::format("--delay-us {}: give a number from 100 to 2000", delay_us), ExitCode::kUsage);
  o.delay = nanoseconds(static_cast<std::int64_t>(delay_us * 1000));
  o.loss = loss_percent / 100;
  o.sample = !a.report_path.empty();
  return std::nullopt;
}

Duration in_state(const DemoReport& r, cc::SchedState s) {
  return r.controller.spent[static_cast<std::size_t>(s)];
}

std::string cc_text(const DemoReport& r) {
  const nic::CcSnapshot& c = r.controller;
  std::string out = fmt::format("  congestion control {}", config::name_of(r.options.cc));
  if (r.options.path_gbps > 0)
    out += fmt::format(", paths of {} Gb/s = {:.1f} Gb/s of all planes", r.options.path_gbps,
                       r.options.path_gbps * r.options.planes * r.options.paths);
  if (c.adaptive)
    out += fmt::format("\n    cwnd min {} median {} max {} KiB after {} SACKs, NACKs and losses; {} cuts",
                       c.windows.min_bytes() >> 10, c.windows.median_bytes() >> 10,
                       c.windows.max_bytes() >> 10, c.windows.count(), c.figures.cuts);
  const double ready = static_cast<double>(in_state(r, cc::SchedState::kReady).ns);
  const double active = static_cast<double>(in_state(r, cc::SchedState::kActive).ns);
  return out + fmt::format(
                   "\n    met {} marks in {} SACKs, {} trims, {} losses; the window was closed {:.0f} % "
                   "of the time with work\n",
                   c.figures.marked, c.figures.acks, c.figures.trims, c.figures.losses,
                   ready + active > 0 ? 100 * active / (ready + active) : 0);
}

nlohmann::ordered_json cc_json(const DemoReport& r) {
  const nic::CcSnapshot& c = r.controller;
  nlohmann::ordered_json j{{"mode", config::name_of(r.options.cc)},
                           {"acks", c.figures.acks},
                           {"marked", c.figures.marked},
                           {"trims", c.figures.trims},
                           {"losses", c.figures.losses},
                           {"cuts", c.figures.cuts},
                           {"active_ns", in_state(r, cc::SchedState::kActive).ns},
                           {"ready_ns", in_state(r, cc::SchedState::kReady).ns},
                           {"pending_ns", in_state(r, cc::SchedState::kPending).ns}};
  if (c.adaptive)
    j.update({{"cwnd_min_bytes", c.windows.min_bytes()},
              {"cwnd_median_bytes", c.windows.median_bytes()},
              {"cwnd_max_bytes", c.windows.max_bytes()}});
  return j;
}

}  // namespace

std::string to_text(const DemoReport& r) {
  std::string out = fmt::format(
      "{} MiB as one QP over {} planes x {} paths of the virtual fabric, {} EVs, {:.0f} us each way, seed "
      "{}\n"
      "{:.2f} s on one core for both ends, the network and the check of every byte\n"
      "  goodput {:.2f} Gb/s, L2 (frames with FCS) {:.2f} Gb/s, L1 (with preamble and gap) {:.2f} Gb/s\n",
      r.bytes_verified >> 20, r.options.planes, r.options.paths, r.evs,
      static_cast<double>(r.options.delay.ns) * 1e-3, r.options.seed, r.seconds, giga(r.rates.goodput_bps),
      giga(r.rates.l2_bps), giga(r.rates.l1_bps));
  if (!r.interrupted && r.bytes_verified >= r.options.bytes + (1ULL << 20))
    out += fmt::format("  {} MiB of it beyond the {} asked for, until data was back on the path that died\n",
                       (r.bytes_verified - r.options.bytes) >> 20, r.options.bytes >> 20);
  out += cc_text(r);
  for (const DemoCheck& c : r.checks) {
    out += fmt::format("[{:^4}] {}\n       {}\n", mark_of(c), c.what, c.found);
  }
  const char* const what_ran = r.interrupted ? " (interrupted; [ -- ] was not judged)" : "";
  out += fmt::format("demo: {}{}\n", r.pass() ? "pass" : "FAIL", what_ran);
  return out;
}

std::string to_json(const DemoReport& r) {
  nlohmann::ordered_json j;
  j["schema"] = "softmrc.demo/1";
  j["pass"] = r.pass();
  j["interrupted"] = r.interrupted;
  j["seed"] = r.options.seed;
  j["seconds"] = r.seconds;
  j["bytes_verified"] = r.bytes_verified;
  j["goodput_bps"] = r.rates.goodput_bps;
  j["l2_bps"] = r.rates.l2_bps;
  j["l1_bps"] = r.rates.l1_bps;
  j["plane_data_pkts"] = r.plane_pkts;
  j["evs"] = {
      {"count", r.evs}, {"healthy", r.evs_healthy}, {"min_pkts", r.ev_min_pkts}, {"max_pkts", r.ev_max_pkts}};
  for (const auto& [cause, n] : r.rtx_by_cause) j["retransmissions"][cause] = n;
  j["spurious_pkts"] = r.spurious;
  j["congestion_control"] = cc_json(r);
  const DeathStory& d = r.death;
  const auto since_death = [&](Time t) {
    return t.ns == 0 ? nlohmann::json() : nlohmann::json((t - d.down).ns);
  };
  j["path_death"] = {{"plane", r.dead_plane},
                     {"path", r.dead_path},
                     {"data_lost_pkts", d.data_lost},
                     {"detected_ns", since_death(d.detected)},
                     {"repaired_ns", since_death(d.repaired)},
                     {"up_ns", since_death(d.up)},
                     {"data_again_ns", since_death(d.data_again)},
                     {"base_rtt_ns", r.base_rtt.ns},
                     {"longest_absence_ns", r.longest_absence.ns},
                     {"absent_ns", r.absent.ns}};
  for (const DemoCheck& c : r.checks)
    j["checks"].push_back({{"what", c.what}, {"found", c.found}, {"ok", c.ok}, {"judged", c.judged}});
  return j.dump(2) + "\n";
}

ExitCode demo_main(const std::vector<std::string>& args) {
  Arguments a;
  if (const auto code = parse(args, a)) return *code;
  for (const auto& [option, path] : {std::pair{"--json", &a.json_path}, {"--report", &a.report_path}}) {
    if (path->empty()) continue;
    if (const Result<void> r = report::claim_result_file(*path); !r)
      return fail(fmt::format("{} {}", option, r.error().message), ExitCode::kUsage);
  }
  if (const Result<void> r = check_options(a.demo); !r) return fail(r.error().message, ExitCode::kUsage);
  catch_signals();
  std::optional<Percent> percent(std::in_place);
  a.demo.stop = [&percent](double progress) {
    percent->show(progress);
    return signals_seen() != 0;
  };
  ethdev::EalConfig ec;
  ec.program = "mrc-endpoint";
  auto eal = ethdev::Eal::init(ec);
  if (!eal) return fail(eal.error().message, ExitCode::kUnsupported);
  auto r = run_demo(a.demo);
  percent.reset();
  if (!r) return fail(r.error().message, ExitCode::kTransport);
  report::say(a.json_path == "-" ? stderr : stdout, "{}", to_text(*r));
  if (!a.json_path.empty()) {
    if (const Result<void> w = report::write_file_atomically(a.json_path, to_json(*r)); !w)
      return fail("--json " + w.error().message, ExitCode::kUsage);
  }
  if (!a.report_path.empty()) {
    if (auto w = report::write_file_atomically(a.report_path, report::html::write(page_of(*r))); !w)
      return fail("--report " + w.error().message, ExitCode::kUsage);
    report::say(a.json_path == "-" ? stderr : stdout, "report: {}\n", a.report_path);
  }
  return r->pass() ? ExitCode::kPass : ExitCode::kTestFailed;
}

}  // namespace mrc::endpoint
