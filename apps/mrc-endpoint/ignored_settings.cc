// SPDX-License-Identifier: BSD-3-Clause
#include "ignored_settings.h"

#include <fmt/format.h>

#include <string_view>

namespace mrc::endpoint {
namespace {

using config::EndpointConfig;
using config::Profile;
using config::Settings;

struct Typed {
  std::string_view key, value;
};

struct Rule {
  std::string_view key;  ///< or how keys begin, when it ends in '.' or '['
  bool (*idle)(Command, const EndpointConfig&, const Typed&);
  std::string_view why;
};

bool covers(std::string_view rule, std::string_view key) {
  return rule.back() == '.' || rule.back() == '[' ? key.starts_with(rule) : key == rule;
}

bool is_write_lat(const EndpointConfig& c) {
  return c.workload.kind == config::WorkloadKind::kWriteLat;
}

constexpr bool (*kNotNscc)(Command, const EndpointConfig&, const Typed&) =
    [](Command, const EndpointConfig& c, const Typed&) { return c.cc.mode != config::CcMode::kNscc; };
constexpr std::string_view kOfNscc = "it is a setting of nscc (--cc nscc), and cc.mode is another";

constexpr Rule kRules[] = {
    {"workload.",
     [](Command command, const EndpointConfig&, const Typed& t) {
       return command == Command::kServe && t.key != "workload.verify" && t.key != "workload.stall_timeout_s";
     },
     "'run' says what is run, and 'serve' learns it from there"},
    {"plane_count",
     [](Command, const EndpointConfig& c, const Typed& t) {
       return !c.planes.empty() && t.value != std::to_string(c.planes.size());
     },
     "the planes are listed one by one (--device, --ip, or planes in the file); their number is that of the "
     "list"},
    {"planes[",
     [](Command, const EndpointConfig& c, const Typed& t) {
       const bool has_devices = c.profile != Profile::kVirtual && c.profile != Profile::kRing;
       return !has_devices && t.key.ends_with(".device");
     },
     "the profiles virtual and ring have no devices; choose another --profile"},
    {"fabric.", [](Command, const EndpointConfig& c, const Typed&) { return c.profile != Profile::kVirtual; },
     "only the profile virtual has a fabric"},
    {"oob.",
     [](Command command, const EndpointConfig&, const Typed&) { return command == Command::kLoopback; },
     "with --loopback there is no connection to another process"},
    {"workload.depth",
     [](Command, const EndpointConfig& c, const Typed& t) {
       return is_write_lat(c) && t.value != "0" && t.value != "1";
     },
     "write_lat has one message under way; write_bw and write_imm have more"},
    {"workload.bidirectional",
     [](Command, const EndpointConfig& c, const Typed& t) { return is_write_lat(c) && t.value == "true"; },
     "write_lat goes both ways as it is"},
    {"ev.count",
     [](Command, const EndpointConfig& c, const Typed& t) {
       return c.ev.mode == config::EvMode::kExplicit && t.value != std::to_string(c.ev.values.size());
     },
     "with ev.mode explicit the EVs are those listed"},
    {"cc.window",
     [](Command, const EndpointConfig& c, const Typed&) { return c.cc.mode != config::CcMode::kFixed; },
     "it is the window of cc.mode fixed (--cc fixed), and cc.mode is another; nscc has cc.max_window"},
    {"cc.send_test",
     [](Command, const EndpointConfig& c, const Typed&) { return c.cc.mode == config::CcMode::kOff; },
     "with cc.mode off no window is tested"},
    {"cc.rate_gbps", kNotNscc, kOfNscc},
    {"cc.max_window", kNotNscc, kOfNscc},
    {"cc.target_delay_us", kNotNscc, kOfNscc},
    {"cc.quick_adapt", kNotNscc, kOfNscc},
    {"qp.receive_penalty",
     [](Command command, const EndpointConfig& c, const Typed& t) {
       const bool receives = command != Command::kRun || c.workload.bidirectional || is_write_lat(c);
       return t.value == "true" && (!receives || !c.workload.verify);
     },
     "it tells of messages that wait here to be checked, and this end receives none, or checks none"},
    {"capture.", [](Command, const EndpointConfig& c, const Typed&) { return c.capture.file.empty(); },
     "nothing is captured without --capture FILE"},
};

}  // namespace

Result<void> check_for_ignored(Command command, const EndpointConfig& config, const Settings& typed) {
  for (const auto& [key, value] : typed) {
    for (const Rule& rule : kRules) {
      if (covers(rule.key, key) && rule.idle(command, config, {key, value}))
        return Error{fmt::format("command line: {}: has no effect: {}", key, rule.why)};
    }
  }
  return {};
}

}  // namespace mrc::endpoint
