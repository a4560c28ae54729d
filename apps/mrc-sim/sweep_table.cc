// SPDX-License-Identifier: BSD-3-Clause
#include "sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "config/json_text.h"
#include "config/loader.h"
#include "sim/median.h"
#include "sim/outcome.h"

namespace mrc::simapp {
namespace {

using Json = nlohmann::ordered_json;

using Column = std::pair<const char*, double SweepRun::*>;
constexpr Column kColumns[] = {{"tail_us", &SweepRun::tail_us},
                               {"median_us", &SweepRun::median_us},
                               {"round_p999_us", &SweepRun::round_p999_us},
                               {"goodput_gbps", &SweepRun::goodput_gbps},
                               {"rtx_pkts", &SweepRun::rtx},
                               {"false_assumed_bad", &SweepRun::false_bad},
                               {"core_queue_p99_bytes", &SweepRun::core_p99},
                               {"last_repair_us", &SweepRun::repair_us}};

// Throws what it is instead.
Json parsed(std::string_view text) {
  auto json = config::parse_json<Json>(text);
  if (!json) throw std::invalid_argument(json.error().message);
  return std::move(*json);
}

// Throws what is missing or of another type.
SweepRun run_of(const Json& j) {
  if (j.at("schema") != sim::kOutcomeSchema)
    throw std::invalid_argument(fmt::format("its schema is {}", printable_excerpt(j.at("schema").dump())));
  SweepRun r;
  r.seed = j.at("seed");
  r.ok = j.at("pass");
  r.verdict = j.at("verdict");
  r.tail_us = j.at("fct").at("max_ns").get<double>() / 1e3;
  r.median_us = j.at("fct").at("median_ns").get<double>() / 1e3;
  if (j.contains("rounds")) r.round_p999_us = j.at("rounds").at("p999_ns").get<double>() / 1e3;
  r.goodput_gbps = j.at("goodput_bps").get<double>() / 1e9;
  r.rtx = j.at("packets").at("rtx");
  r.false_bad = j.at("evs").value("false_assumed_bad", 0.0);  // the baseline has no EVs
  for (const Json& q : j.at("queues"))
    if (q.at("where") != "host" && q.at("where") != "last_hop")
      r.core_p99 = std::max(r.core_p99, q.at("p99_bytes").get<double>());
  for (const Json& f : j.at("faults"))
    r.repair_us = std::max(r.repair_us, f.at("last_repair_ns").get<double>() / 1e3);
  return r;
}

// What all points have says nothing about any.
void drop_common(std::vector<SweepPoint>& points) {
  if (points.empty()) return;
  const config::Settings first = points.front().settings;
  for (const auto& setting : first) {
    const auto has = [&](const SweepPoint& p) {
      return std::find(p.settings.begin(), p.settings.end(), setting) != p.settings.end();
    };
    if (!std::all_of(points.begin(), points.end(), has)) continue;
    for (SweepPoint& p : points) std::erase(p.settings, setting);
  }
}

std::string text_of(const SweepPoint& point, bool with_scenario) {
  std::string out = with_scenario ? point.scenario : "";
  for (const auto& [key, value] : point.settings) out += (out.empty() ? "" : " ") + key + "=" + value;
  return out.empty() ? "as the file has it" : out;
}

std::vector<double> values_of(const SweepPoint& point, double SweepRun::*column) {
  std::vector<double> values;
  for (const SweepRun& r : point.runs) values.push_back(r.*column);
  return values;
}

}  // namespace

Result<SweepRun> sweep_run_of(const std::string& json) {
  try {
    return run_of(parsed(json));
  } catch (const std::exception& e) {
    return Error{fmt::format("no result of mrc-sim run: {}", e.what())};
  }
}

Result<std::vector<SweepPoint>> collect_points(const std::vector<std::string>& files) {
  std::vector<SweepPoint> points;
  for (const std::string& file : files) {
    const auto text = config::read_text_file(file);
    if (!text) return text.error();
    SweepPoint one;
    try {
      const Json j = parsed(*text);
      one.runs.push_back(run_of(j));
      one.scenario = j.at("scenario");
      for (const auto& [key, value] : j.at("settings").items()) one.settings.emplace_back(key, value);
    } catch (const std::exception& e) {
      return Error{fmt::format("{}: no result of mrc-sim run --json: {}", printable(file), e.what())};
    }
    const auto known = std::find_if(points.begin(), points.end(), [&](const SweepPoint& p) {
      return p.scenario == one.scenario && p.settings == one.settings;
    });
    if (known == points.end())
      points.push_back(std::move(one));
    else
      known->runs.push_back(one.runs.front());
  }
  for (SweepPoint& p : points) {
    const auto by_seed = [](const SweepRun& a, const SweepRun& b) { return a.seed < b.seed; };
    std::stable_sort(p.runs.begin(), p.runs.end(), by_seed);
    for (std::size_t i = 1; i < p.runs.size(); ++i)
      if (p.runs[i].seed == p.runs[i - 1].seed)
        return Error{fmt::format("seed {} of '{}' is there twice; give each run's file once", p.runs[i].seed,
                                 text_of(p, true))};
  }
  drop_common(points);
  return points;
}

std::string sweep_text(const std::vector<SweepPoint>& points) {
  std::size_t fewest = ~std::size_t{0};
  std::size_t most = 0;
  bool scenarios = false;
  std::size_t width = 48;
  for (const SweepPoint& p : points) {
    fewest = std::min(fewest, p.runs.size());
    most = std::max(most, p.runs.size());
    scenarios = scenarios || p.scenario != points.front().scenario;
  }
  for (const SweepPoint& p : points) width = std::max(width, text_of(p, scenarios).size());
  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "{} seeds a point, medians\n{:<{}}",
                 fewest == most ? std::to_string(most) : fmt::format("{} to {}", fewest, most), "point",
                 width);
  for (const Column& c : kColumns) fmt::format_to(to, " {:>20}", c.first);
  out += '\n';
  for (const SweepPoint& p : points) {
    fmt::format_to(to, "{:<{}}", text_of(p, scenarios), width);
    for (const Column& c : kColumns) fmt::format_to(to, " {:>20.3f}", sim::median_of(values_of(p, c.second)));
    const auto bad = std::find_if(p.runs.begin(), p.runs.end(), [](const SweepRun& r) { return !r.ok; });
    if (bad != p.runs.end()) fmt::format_to(to, "  seed {}: {}", bad->seed, bad->verdict);
    out += '\n';
  }
  return out;
}

std::string sweep_json(const std::vector<SweepPoint>& points) {
  Json json;
  json["schema"] = "softmrc.sweep/1";
  json["points"] = Json::array();
  for (const SweepPoint& p : points) {
    Json point;
    point["scenario"] = p.scenario;
    point["settings"] = Json::object();
    for (const auto& [key, value] : p.settings) point["settings"][key] = value;
    point["seeds"] = Json::array();
    point["failures"] = Json::object();
    for (const SweepRun& r : p.runs) {
      point["seeds"].push_back(r.seed);
      if (!r.ok) point["failures"][std::to_string(r.seed)] = r.verdict;
    }
    for (const Column& c : kColumns) point[c.first] = values_of(p, c.second);
    json["points"].push_back(point);
  }
  return json.dump(1) + "\n";
}

bool all_pass(const std::vector<SweepPoint>& points) {
  return std::all_of(points.begin(), points.end(), [](const SweepPoint& p) {
    return std::all_of(p.runs.begin(), p.runs.end(), [](const SweepRun& r) { return r.ok; });
  });
}

}  // namespace mrc::simapp
