// SPDX-License-Identifier: BSD-3-Clause
#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "base/program_name.h"
#include "config/endpoint_schema.h"
#include "config/key_facts.h"
#include "config/yaml_tree.h"
#include "ignored_settings.h"
#include "socket_directory.h"

namespace mrc::endpoint {
namespace {

/// {0} is what the user typed to get here: each line works when it is copied.
constexpr const char* kFirstSteps =
    R"(mrc-endpoint moves data between two MRC endpoints over DPDK ports and verifies every byte.

Without NIC, hugepages or root, both ends in this process over a virtual fabric of four planes:
  {0} run --loopback -D 2

The main job in a minute: 2 GiB as one QP while a path dies and returns and another loses packets, all of it checked:
  {0} demo

Two processes on this machine over shared memory, in two terminals:
  {0} serve
  {0} run -s 64K -n 5000

Two machines over the interface eth1 of each, as root; 192.0.2.1 is an address of the first one:
  {0} serve --profile af_packet --device eth1 --listen 0.0.0.0
  {0} run --profile af_packet --device eth1 --connect 192.0.2.1 -s 64K -D 5

{0} run --help lists the options, {0} --help-config every configuration key.
)";

constexpr const char* kFooter = R"(
Sizes are bytes: 65536, or 64K, 1M, 1G (powers of 1024).
Workloads (-w): write_bw   Writes back to back; rate, and latency from post to completion
                write_lat  ping-pong of WriteIMM; half the round trip
                write_imm  WriteIMM back to back; each message checked as it is delivered
Every option that has a configuration key is checked by the same rules; --set KEY=VALUE reaches all other keys.
EAL arguments follow '--'; the effective ones are printed.
Exit codes: 0 pass, 1 test failed, 2 usage or configuration, 3 peer or exchange, 4 transport, 77 not supported here.
)";

using config::Settings;

/// perftest's -a: powers of two from 2 to 8 MiB.
std::string all_sizes() {
  std::string list;
  for (std::uint64_t size = 2; size <= (8U << 20); size *= 2)
    list += fmt::format("{}{}", list.empty() ? "" : ",", size);
  return "[" + list + "]";
}

/// Collects options into settings of configuration keys.
class Collector {
 public:
  explicit Collector(Settings& settings) : settings_(settings) {}

  /// `instead`: what the file may say and this option takes the place of.
  CLI::Option* value(CLI::App& app, const std::string& flags, const std::string& key, const std::string& doc,
                     const Settings& instead = {}) {
    return app
        .add_option_function<std::string>(
            flags,
            [this, key, instead](const std::string& v) {
              settings_.insert(settings_.end(), instead.begin(), instead.end());
              settings_.emplace_back(key, v);
            },
            fmt::format("{}{}  [{}]", doc, doc.find("default") == std::string::npos ? facts_of(key) : "",
                        key))
        ->take_last();
  }
  CLI::Option* flag(CLI::App& app, const std::string& flags, const std::string& key, const std::string& set,
                    const std::string& doc) {
    return app.add_flag_callback(
        flags, [this, key, set] { settings_.emplace_back(key, set); }, doc + "  [" + key + "]");
  }

 private:
  /// " (default; limits)" of a key, as the configuration describes it.
  std::string facts_of(const std::string& key) const {
    const auto at = facts_.find(key);
    return at == facts_.end() ? "" : fmt::format(" ({})", at->second);
  }

  Settings& settings_;
  const std::map<std::string, std::string> facts_ = config::key_facts();
};

struct Raw {
  Settings settings;
  std::string config_path;
  std::vector<std::string> devices, ips, sets;
  bool loopback = false;
};

void add_common(CLI::App& app, Collector& c, Raw& raw, Options& o) {
  app.add_option("-c,--config", raw.config_path, "YAML configuration");
  c.value(app, "--profile", "profile",
          "what the planes are: virtual (with --loopback the default), vhost (between two processes), ring, "
          "memif, af_packet, af_xdp, pcap, ethdev");
  app.add_option("--device", raw.devices, "device of the next plane; once a plane  [planes[].device]");
  app.add_option("--ip", raw.ips, "address of the next plane; once a plane  [planes[].ip]");
  c.value(app, "--planes", "plane_count", "planes, where their devices need no names");
  c.value(app, "-p,--port", "oob.port", "TCP port of the exchange");
  c.value(app, "-m,--mtu", "qp.mtu", "payload of a packet: auto, 256, 512, 1024, 2048 or 4096");
  c.value(app, "--evs", "ev.count", "entropy values");
  c.value(app, "--workers", "engine.workers", "poll-mode workers");
  c.value(app, "--lcores", "engine.lcores", "CPUs of the workers");
  c.value(app, "--idle", "engine.idle", "auto, spin, yield or sleep");
  c.value(app, "--cc", "cc.mode", "congestion control: off, fixed or nscc");
  c.value(app, "--rate-gbps", "cc.rate_gbps", "of all planes together, for nscc; 0: what the ports say");
  c.value(app, "--base-rtt-us", "qp.base_rtt_us", "round trip of the unloaded network");
  c.value(app, "--timeout", "qp.timeout", "ACK timer exponent");
  c.value(app, "--peer-timeout", "oob.peer_timeout_s",
          "seconds of silence after which the peer counts as gone");
  c.value(app, "--capture", "capture.file", "write packets to this pcapng file");
  c.value(app, "--seed", "seed", "all randomness; 0: drawn and printed");
  c.flag(app, "--no-verify", "workload.verify", "false", "do not look at the data");
  app.add_option("--set", raw.sets, "KEY=VALUE of any configuration key");
  app.add_option("--json", o.json_path, "write the result as JSON to this file, '-' for standard output");
  app.add_option("--report", o.report_path, "write the run as plots over time to this HTML file");
  app.add_flag("--show-evs", o.show_evs, "one line an EV in the table");
  app.add_flag("-Q,--quiet", o.quiet, "no start-up lines and no progress");
  app.add_flag("--print-config", o.print_config, "print the effective configuration and exit");
  app.add_flag("--check-config", o.check_config, "check the configuration and exit");
}

void add_run(CLI::App& app, Collector& c, Raw& raw) {
  c.value(app, "-w,--workload", "workload.kind", "write_bw, write_lat or write_imm");
  c.value(app, "-s,--size", "workload.size", "bytes of a message", {{"workload.sweep", "[]"}});
  c.flag(app, "-a,--all", "workload.sweep", all_sizes(),
         "all powers of two from 2 to 8 MiB, one after the other")
      ->excludes("--size");
  c.value(app, "-q,--qps", "workload.qps", "queue pairs");
  c.value(app, "-n,--iters", "workload.iterations", "messages a QP; 0: by duration, or 5000 (write_lat 1000)",
          {{"workload.duration_s", "0"}});
  c.value(app, "-D,--duration", "workload.duration_s", "seconds instead of a number of messages; 0: a number",
          {{"workload.iterations", "0"}})
      ->excludes("--iters");
  c.value(app, "-t,--tx-depth", "workload.depth",
          "messages outstanding a QP; 0: 128 (write_lat 1), fewer when they are large");
  c.flag(app, "-b,--bidirectional", "workload.bidirectional", "true", "both ends send");
  c.value(app, "--pin-ev", "workload.pin_ev", "send everything on this EV");
  c.value(app, "--loss", "fabric.loss", "probability of loss in the virtual fabric");
  c.value(app, "--connect", "oob.address", "address of the serving end (default: this machine)");
  app.add_flag("--loopback", raw.loopback, "both ends in this process (profiles virtual and ring)");
}

/// What the command line says, as settings of keys, in the order in which they take effect.
Result<Settings> settings_of(const Raw& raw, const std::vector<std::string>& eal_args) {
  Settings all = raw.settings;
  if (!raw.devices.empty() && raw.ips.size() > raw.devices.size())
    return Error{
        fmt::format("--ip is given {} times and --device {}: one of each for a plane, in the same order",
                    raw.ips.size(), raw.devices.size())};
  for (std::size_t i = 0; i < std::max(raw.devices.size(), raw.ips.size()); ++i) {
    if (i < raw.devices.size())
      all.emplace_back(fmt::format("planes[{}].device", i), config::quoted(raw.devices[i]));
    if (i < raw.ips.size()) all.emplace_back(fmt::format("planes[{}].ip", i), config::quoted(raw.ips[i]));
  }
  for (const std::string& set : raw.sets) {
    const std::size_t eq = set.find('=');
    if (eq == std::string::npos || eq == 0) return Error{fmt::format("--set {}: expected KEY=VALUE", set)};
    all.emplace_back(set.substr(0, eq), set.substr(eq + 1));
  }
  for (const std::string& arg : eal_args) all.emplace_back("eal.args[+]", config::quoted(arg));
  return all;
}

/// The settings on top of the file's tree, then one load for all. Both ends here meet on the virtual fabric,
/// two processes over shared memory, unless somebody says otherwise.
Result<config::EndpointConfig> load(const Raw& raw, const Settings& settings) {
  const auto unsaid = raw.loopback ? config::Profile::kVirtual : config::Profile::kVhost;
  if (raw.config_path.empty()) return config::load_endpoint_text("", "configuration", settings, unsaid);
  const Result<std::string> file = config::read_text_file(raw.config_path);
  if (!file) return file.error();
  return config::load_endpoint_text(*file, raw.config_path, settings, unsaid);
}

/// `serve` learns the number of QPs from its peer.
Result<void> check_workers(const Options& o) {
  const config::EndpointConfig& c = o.config;
  if (o.command == Command::kServe || c.workload.qps >= c.engine.workers) return {};
  return Error{fmt::format(
      "engine.workers: {} workers for {} QPs; a QP lives on one worker: use --workers {}, or --qps {} or "
      "more",
      c.engine.workers, c.workload.qps, c.workload.qps, c.engine.workers)};
}

/// Which end this process is, or both.
Result<void> check_ends(const Options& o) {
  const config::Profile p = o.config.profile;
  const bool in_process = p == config::Profile::kVirtual || p == config::Profile::kRing;
  if ((o.command == Command::kLoopback) == in_process) return {};
  return Error{fmt::format(
      "profile {} {}", config::name_of(p),
      in_process ? fmt::format("has both ends in one process: use '{} run --loopback', or choose another "
                               "profile (vhost, the default, works between two processes without a NIC)",
                               program_name())
                 : fmt::format("joins two processes: leave --loopback out, and start '{} serve' first",
                               program_name()))};
}

/// Profile ethdev drives what is on the PCI bus; the name of an interface is the kernel's.
Result<void> check_pci_names(const Options& o) {
  const auto is_pci = [](std::string_view device) {
    device = device.substr(0, device.find(','));
    return device.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos &&
           device.find(':') != std::string_view::npos && device.find('.') != std::string_view::npos;
  };
  if (o.config.profile != config::Profile::kEthdev) return {};
  for (std::size_t i = 0; i < o.config.planes.size(); ++i) {
    if (is_pci(o.config.planes[i].device)) continue;
    return Error{
        fmt::format("planes[{}].device: '{}' is no PCI address like 0000:01:00.0, which profile ethdev "
                    "takes; tools/doctor lists "
                    "them. An interface of the kernel goes with --profile af_packet",
                    i, o.config.planes[i].device)};
  }
  return {};
}

/// What somebody who mixed up the ends meant.
std::string other_end(const CLI::App& serve, const CLI::App& run, const std::vector<std::string>& args) {
  const auto given = [&](std::string_view option) {
    return std::any_of(args.begin(), args.end(), [&](const std::string& a) { return a.starts_with(option); });
  };
  if (serve.parsed() && given("--connect")) return "serve is connected to: --listen ADDRESS, one of its own";
  if (run.parsed() && given("--listen")) return "run connects: --connect ADDRESS, the serving end's";
  return "";
}

Parsed early(std::string text, ExitCode code) {
  Parsed p;
  p.exit = {std::move(text), code, code != ExitCode::kPass};
  return p;
}

}  // namespace

Parsed parse_command_line(const std::vector<std::string>& args) {
  const std::string first_steps = fmt::format(fmt::runtime(kFirstSteps), program_name());
  if (args.empty()) return early(first_steps, ExitCode::kUsage);
  const auto dashes = std::find(args.begin(), args.end(), "--");
  std::vector<std::string> ours(args.begin(), dashes);
  const std::vector<std::string> eal_args(dashes == args.end() ? dashes : dashes + 1, args.end());

  Parsed parsed;
  Options& o = parsed.options;
  Raw raw;
  Collector collector(raw.settings);
  CLI::App app("Reference endpoint for MRC: moves data between two ends over DPDK ports and verifies it.",
               "mrc-endpoint");
  app.footer(kFooter);
  bool help_config = false;
  bool version = false;
  app.add_flag("--help-config", help_config, "print every configuration key with its default and meaning");
  app.add_flag("--version", version, "print the version");
  CLI::App* serve = app.add_subcommand("serve", "wait for 'run' on another machine or process");
  CLI::App* run = app.add_subcommand("run", "connect, run the workload, print results");
  // Has a parser of its own (demo_main.cc) and stands here for the list.
  CLI::App* demo = app.add_subcommand(
      "demo", "both ends here: 2 GiB while a path dies and another loses packets, all of it checked");
  app.require_subcommand(0, 1);
  add_common(*serve, collector, raw, o);
  collector.value(*serve, "--listen", "oob.address",
                  "address to listen on; 0.0.0.0 or :: for all (default: this machine only)");
  add_common(*run, collector, raw, o);
  add_run(*run, collector, raw);
  for (CLI::App* sub : {serve, run}) sub->footer(kFooter);

  std::reverse(ours.begin(), ours.end());  // CLI11 takes arguments from the back
  try {
    app.parse(ours);
  } catch (const CLI::CallForHelp&) {
    const CLI::App* shown = serve->parsed() ? serve : run->parsed() ? run : &app;
    return early(shown->help(), ExitCode::kPass);
  } catch (const CLI::ParseError& e) {
    const std::string hint = other_end(*serve, *run, args);
    return early(fmt::format("mrc-endpoint: {}{}{}\nTry '{} {}--help'.\n", e.what(), hint.empty() ? "" : "; ",
                             hint, program_name(),
                             serve->parsed() ? "serve "
                             : run->parsed() ? "run "
                                             : ""),
                 ExitCode::kUsage);
  }
  if (help_config) return early(config::print_endpoint(config::EndpointConfig{}, true), ExitCode::kPass);
  if (version) return early("mrc-endpoint " SOFTMRC_VERSION "\n", ExitCode::kPass);
  if (demo->parsed()) return early("mrc-endpoint: 'demo' comes first, then its options\n", ExitCode::kUsage);
  if (!serve->parsed() && !run->parsed()) return early(first_steps, ExitCode::kUsage);

  o.command = serve->parsed() ? Command::kServe : raw.loopback ? Command::kLoopback : Command::kRun;
  o.command_line = fmt::format("mrc-endpoint {}", fmt::join(args, " "));
  const auto refused = [&o](const std::string& message) {
    Parsed p = early(message + "\n", ExitCode::kUsage);
    if (!o.check_config && !o.print_config) p.json_path = o.json_path;
    return p;
  };
  const Result<Settings> settings = settings_of(raw, eal_args);
  if (!settings) return refused(settings.error().message);
  Result<config::EndpointConfig> config = load(raw, *settings);
  if (!config) return refused(config.error().message);
  o.config = *std::move(config);
  if (const Result<void> r = check_for_ignored(o.command, o.config, *settings); !r)
    return refused(r.error().message);
  if (const Result<void> r = check_pci_names(o); !r) return refused("mrc-endpoint: " + r.error().message);
  if (const Result<void> r = check_workers(o); !r) return refused("mrc-endpoint: " + r.error().message);
  if (const Result<void> r = config::check_controller(o.config); !r)
    return refused("mrc-endpoint: " + r.error().message);
  config::fill_sockets(o.config, socket_directory());
  if (o.check_config) return early("ok\n", ExitCode::kPass);
  if (o.print_config) return early(config::print_endpoint(o.config, false), ExitCode::kPass);
  if (const Result<void> r = check_ends(o); !r) return refused("mrc-endpoint: " + r.error().message);
  parsed.json_path = o.json_path;
  parsed.run = true;
  return parsed;
}

}  // namespace mrc::endpoint
