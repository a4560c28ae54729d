// SPDX-License-Identifier: BSD-3-Clause
#include "cc_config.h"

#include <fmt/format.h>

#include "cc_keys.h"

namespace mrc::simapp {
namespace {

/// Overwrites members that the object names; types choose reader and range.
class Overwrite {
 public:
  explicit Overwrite(Fields& in) : in_(in) {}

  void operator()(const char* key, double& v) { in_.real(key, 0, kMaxReal, v); }
  void operator()(const char* key, std::int64_t& v) { in_.whole(key, -kMaxWhole, kMaxWhole, v); }
  void operator()(const char* key, bool& v) { in_.flag(key, v); }
  void operator()(const char* key, Time& v) { in_.whole(key, 0, kMaxTimeNs, v.ns); }
  void operator()(const char* key, Duration& v) { in_.whole(key, 0, kMaxSpanNs, v.ns); }
  void operator()(const char* key, std::uint8_t& v) {
    std::int64_t wide = v;
    if (in_.whole(key, 0, 255, wide)) v = static_cast<std::uint8_t>(wide);
  }
  void operator()(const char* key, cc::DelayAverage& v) {
    std::string word;
    if (!in_.word(key, word)) return;
    for (const AverageName& a : kAverages) {
      if (word == a.name) {
        v = a.value;
        return;
      }
    }
    in_.fail(fmt::format("{} is \"{}\"; it must be window, ewma_htsim, ewma_quarter or last_sample", key,
                         printable(word)));
  }

 private:
  Fields& in_;
};

Result<cc::NsccChoices> read_choices(Fields& in) {
  std::string preset = "uet";
  in.word("preset", preset);
  if (preset != "uet" && preset != "htsim")
    in.fail(fmt::format("preset is \"{}\"; it must be uet or htsim", printable(preset)));
  cc::NsccChoices choices = preset == "htsim" ? cc::NsccChoices::htsim() : cc::NsccChoices::uet();
  if (const Json* object = in.object("choices"); object != nullptr) {
    Fields own(*object, "choices.");
    each_choice_key(choices, Overwrite(own));
    if (auto r = own.finish(); !r) return r.error();
  }
  return choices;
}

// null stands for "never" where a threshold may be out of reach.
void read_params(Fields& in, cc::NsccParams& params) {
  if (in.null("qa_threshold_ns")) {
    params.qa_threshold = cc::NsccParams::kNever;
    each_param_key(params, [&](const char* key, auto& v) {
      if (std::string_view(key) != "qa_threshold_ns") Overwrite{in}(key, v);
    });
    return;
  }
  each_param_key(params, Overwrite(in));
}

Result<void> read_state(const Json& object, CcConfig& out) {
  Fields in(object, "state.");
  each_state_key(out.state, Overwrite(in));
  in.whole("inflight", -kMaxWhole, kMaxWhole, out.inflight);
  if (auto r = in.finish(); !r) return r;
  const double floor = out.params.mtu_bytes;
  const auto refuse = [](const char* key, const std::string& value, const std::string& limit) {
    return Error{fmt::format("state.{} is {}; it must be {}", key, value, limit)};
  };
  const auto window = fmt::format("from {} (mtu_bytes) to {}", exact_number(floor), kMaxWhole);
  const auto fits = [&](double v) { return v >= floor && v <= static_cast<double>(kMaxWhole); };
  if (!fits(out.state.cwnd)) return refuse("cwnd", exact_number(out.state.cwnd), window);
  if (!fits(out.state.wmax)) return refuse("wmax", exact_number(out.state.wmax), window);
  if (out.state.saved != 0 && !fits(out.state.saved))
    return refuse("saved", exact_number(out.state.saved), "0 or " + window);
  if (out.state.base.ns == 0) return refuse("base", "0", "above 0 ns");
  return {};
}

}  // namespace

std::string json_value(double v) {
  return exact_number(v);
}
std::string json_value(std::int64_t v) {
  return fmt::format("{}", v);
}
std::string json_value(std::uint8_t v) {
  return fmt::format("{}", unsigned{v});
}
std::string json_value(bool v) {
  return v ? "true" : "false";
}
std::string json_value(Duration v) {
  return v == cc::NsccParams::kNever ? "null" : json_value(v.ns);
}
std::string json_value(Time v) {
  return json_value(v.ns);
}
std::string json_value(cc::DelayAverage v) {
  for (const AverageName& a : kAverages)
    if (a.value == v) return fmt::format("\"{}\"", a.name);
  return "null";
}

Result<CcConfig> read_cc_config(const Json& object) {
  Fields in(object);
  std::string event;
  in.word("event", event);
  CcConfig out;
  cc::NsccLink link;
  std::int64_t mtu = 0;
  std::int64_t mss = 0;
  std::int64_t trigger = out.ack_gen_trigger_bytes;
  std::string test = "mrc";
  in.real("rate_bps", 0, 1e15, link.rate_bps);
  in.whole("base_rtt_ns", 1, kMaxBaseRttNs, link.base_rtt.ns);
  in.whole("mtu_bytes", 1, 65535, mtu);
  in.whole("mss_bytes", 1, 65535, mss);
  in.flag("trimming", link.trimming);
  in.whole("start_ns", 0, kMaxTimeNs, out.start.ns);
  in.whole("ack_gen_trigger_bytes", 0, 1 << 20, trigger);
  if (in.word("send_test", test) && test != "mrc" && test != "uet")
    in.fail(fmt::format("send_test is \"{}\"; it must be mrc or uet", printable(test)));
  for (const char* needed : {"rate_bps", "base_rtt_ns", "mtu_bytes"})
    if (!in.has(needed))
      in.fail(fmt::format("no {}; a configuration line starts with {}", needed,
                          R"({"rate_bps":100e9,"base_rtt_ns":12000,"mtu_bytes":4096})"));
  const auto choices = read_choices(in);
  if (!in.ok()) return in.finish().error();
  if (!choices) return choices.error();

  link.mtu_bytes = static_cast<std::uint32_t>(mtu);
  link.mss_bytes = static_cast<std::uint32_t>(mss);
  out.send_test = test == "uet" ? cc::SendTest::kUet : cc::SendTest::kMrc;
  out.ack_gen_trigger_bytes = static_cast<std::uint32_t>(trigger);
  auto params = cc::derive_nscc(link, *choices);
  if (!params) return params.error();
  out.params = *params;
  read_params(in, out.params);
  const Json* state = in.object("state");
  if (auto r = in.finish(); !r) return r.error();
  if (out.params.max_cwnd_bytes > kMaxWhole)
    return Error{fmt::format("max_cwnd_bytes is {}; it must be at most {}: lower rate_bps or base_rtt_ns",
                             out.params.max_cwnd_bytes, kMaxWhole)};
  if (auto r = out.params.check(); !r) return r.error();
  out.state = cc::Nscc(out.params, out.start).state();
  if (state != nullptr)
    if (auto r = read_state(*state, out); !r) return r.error();
  return out;
}

std::string cc_config_text(const cc::NsccParams& params, cc::SendTest test,
                           std::uint32_t ack_gen_trigger_bytes) {
  std::string out = fmt::format(R"("mtu_bytes":{},"base_rtt_ns":{})", params.mtu_bytes, params.base_rtt.ns);
  each_param_key(params, [&](const char* key, const auto& v) {
    fmt::format_to(std::back_inserter(out), R"(,"{}":{})", key, json_value(v));
  });
  fmt::format_to(std::back_inserter(out), R"(,"send_test":"{}","ack_gen_trigger_bytes":{},"choices":{{)",
                 test == cc::SendTest::kUet ? "uet" : "mrc", ack_gen_trigger_bytes);
  const char* comma = "";
  each_choice_key(params.choices, [&](const char* key, const auto& v) {
    fmt::format_to(std::back_inserter(out), R"({}"{}":{})", comma, key, json_value(v));
    comma = ",";
  });
  return out + "}";
}

}  // namespace mrc::simapp
