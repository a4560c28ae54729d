// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "report/html/page.h"
#include "report/html/text.h"

namespace mrc::report::html {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kLargest = 5'000'000;

/// A page with everything on it, `samples` long.
Page page_of(std::size_t samples, std::size_t planes = 4, std::size_t evs = 16) {
  Page p;
  p.title = "a run";
  p.verdict = "pass";
  for (std::size_t i = 0; i < samples; ++i) p.times_ns.push_back(1e3 * static_cast<double>(i + 1));
  TimeChart strips{"planes", "planes", "", Unit::kBitsPerSecond, Layout::kStrips, {}, {}};
  TimeChart lines{"cwnd", "window", "", Unit::kBytes, Layout::kLines, {}, {}};
  for (std::size_t k = 0; k < planes; ++k) {
    Series s{"series " + std::to_string(k), {}, {}, {}};
    for (std::size_t i = 0; i < samples; ++i)
      s.values.push_back(1e9 + 1e8 * std::sin(static_cast<double>(i * (k + 3))));
    strips.series.push_back(s);
    lines.series.push_back(s);
  }
  p.charts = {strips, lines};
  EvMap map;
  map.title = "EVs";
  for (std::size_t r = 0; r < evs; ++r)
    map.rows.push_back({"EV " + std::to_string(r), static_cast<unsigned>(r * planes / evs)});
  for (std::size_t r = 0; r < evs; ++r) {
    for (std::size_t i = 0; i < samples; ++i) {
      map.states.push_back(r == 2 && i > samples / 2 ? 2 : 0);
      map.pkts.push_back(static_cast<std::uint32_t>((i * 7919 + r * 104729) % 13));
    }
  }
  p.maps = {map};
  p.distributions = {{"latency",
                      "latency",
                      "",
                      Unit::kNanoseconds,
                      {{1000, 1100, 5}, {9000, 9100, 1}},
                      {{"p50", 1050}},
                      {}}};
  p.tables = {{"figures", {"what", "value"}, {{"bytes", "1"}}, true}};
  return p;
}

Comparison comparison_of(std::vector<Comparison::Row> rows) {
  return {"claims", "claims", "about", "with", "control", std::move(rows), {}};
}

std::size_t count(const std::string& text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++n;
  return n;
}

/// What the script is told.
nlohmann::json data_of(const std::string& html) {
  const std::string open = "id=\"data\">";
  const std::size_t from = html.find(open);
  if (from == std::string::npos) return {};
  const std::size_t to = html.find("</script>", from);
  return nlohmann::json::parse(html.substr(from + open.size(), to - from - open.size()));
}

TEST(Html, TextFromOutsideIsTextInside) {
  const std::string hostile = "</title><script>alert(1)</script>\"'&<!-- \x01 \xff \xc0\xaf \xed\xa0\x80";
  Page p = page_of(3);
  p.title = p.subtitle = p.clock = p.verdict = p.footer = hostile;
  p.figures = {{hostile, hostile, hostile}};
  p.markers = {{1500, hostile}};
  for (TimeChart& c : p.charts) c.title = c.about = c.series[0].name = hostile;
  p.maps[0].title = p.maps[0].about = p.maps[0].rows[0].label = hostile;
  p.distributions[0].title = p.distributions[0].about = hostile;
  p.distributions[0].figures[0].first = hostile;
  p.tables = {{hostile, {hostile}, {{hostile, hostile}}, true}};
  p.texts = {{hostile, hostile}};
  const std::string html = write(p);
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(count(html, "<script"), 2U);  // the data and ours
  EXPECT_EQ(count(html, "</script>"), 2U);
  EXPECT_EQ(html.find("<!--"), std::string::npos);
  EXPECT_EQ(html.find('\x01'), std::string::npos);
  EXPECT_EQ(html.find('\xff'), std::string::npos);
  EXPECT_EQ(data_of(html)["charts"][0]["series"][0]["name"].get<std::string>().substr(0, 16),
            "</title><script>");
  EXPECT_GT(count(html, "&lt;script&gt;alert(1)"), 15U);
}

TEST(Html, NothingIsLoadedFromAnywhere) {
  const std::string html = write(page_of(10));
  EXPECT_EQ(count(html, "http://"), 1U) << "the name of SVG's namespace, which nobody fetches";
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* word : {"https:", "src=\"", "@import", "url(", "fetch(", "XMLHttpRequest"})
    EXPECT_EQ(html.find(word), std::string::npos) << word;
}

TEST(Html, NoSamplesAreSaidNotDrawn) {
  Page p = page_of(0);
  p.distributions[0].buckets.clear();
  const std::string html = write(p);
  EXPECT_EQ(count(html, "class=\"absent\""), 4U);  // two charts, the map, the histogram
  EXPECT_EQ(html.find("<svg class=\"plot"), std::string::npos);
  EXPECT_EQ(html.find("id=\"data\""), std::string::npos);
}

TEST(Html, AChartWithoutSeriesSaysWhy) {
  Page p = page_of(5);
  p.charts[1].series.clear();
  p.charts[1].absent = "congestion control is off";
  EXPECT_NE(write(p).find("congestion control is off"), std::string::npos);
}

TEST(Html, OneSampleIsDrawn) {
  const std::string html = write(page_of(1));
  const nlohmann::json data = data_of(html);
  EXPECT_EQ(data["edges"].size(), 2U);
  EXPECT_EQ(data["charts"][0]["series"][0]["v"].size(), 1U);
  EXPECT_EQ(data["maps"][0]["cells"].size(), 16U);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf"), std::string::npos);
}

TEST(Html, ManySamplesAreJoinedAndNothingIsLostFromSight) {
  Page p = page_of(100'000);
  for (TimeChart& c : p.charts) c.series[1].values[77'777] = 9e9;  // one peak among 100 000
  p.maps[0].states[5 * 100'000 + 33'333] = 3;                      // one bad moment
  const std::string html = write(p);
  EXPECT_LT(html.size(), kLargest);
  const nlohmann::json data = data_of(html);
  EXPECT_EQ(data["charts"][0]["series"][1]["v"].size(), kMaxColumns);
  EXPECT_EQ(data["maps"][0]["cells"][0].get<std::string>().size(), kMaxMapColumns);
  EXPECT_NE(html.find("<td>9.00 Gb/s</td>"), std::string::npos) << "the most, in the legend";
  EXPECT_NE(data["maps"][0]["cells"][5].get<std::string>().find('p'), std::string::npos);
  // Half of row 2 was condemned.
  const auto row = data["maps"][0]["cells"][2].get<std::string>();
  EXPECT_NEAR(static_cast<double>(std::count(row.begin(), row.end(), 'b')), kMaxMapColumns / 2.0, 2);
}

TEST(Html, MeansKeepTheSum) {
  Page p = page_of(100'000, 1);
  double sum = 0;
  for (const double v : p.charts[0].series[0].values) sum += v;
  double joined = 0;
  const nlohmann::json series = data_of(write(p))["charts"][0]["series"][0]["v"];
  for (const auto& v : series) joined += v.get<double>();
  EXPECT_NEAR(joined / kMaxColumns, sum / 100'000, 1e-3 * sum / 100'000);
}

TEST(Html, TheLargestPageStaysSmall) {
  Page p = page_of(960, 16, 4000);
  for (std::size_t i = 0; i < p.maps[0].states.size(); ++i)
    p.maps[0].states[i] = static_cast<std::uint8_t>((i * 2654435761U >> 7) % 5);
  for (int i = 0; i < 500; ++i) p.markers.push_back({1e3 * i, "flap"});
  for (int i = 0; i < 10'000; ++i)
    p.tables[0].rows.push_back({"a flow", "with a few words", "and numbers 123456789"});
  p.texts = {{"log", std::string(10'000'000, 'x')}};
  p.charts[0].series.resize(500, p.charts[0].series[0]);
  const std::string html = write(p);
  EXPECT_LT(html.size(), kLargest);
  EXPECT_NE(html.find("The first 1024 of 4000 EVs."), std::string::npos);
  EXPECT_NE(html.find("The first 40 of 500."), std::string::npos);
  EXPECT_NE(html.find("The first 1000 of 10001 rows."), std::string::npos);
  EXPECT_NE(html.find("The first 32 of 500."), std::string::npos);
  EXPECT_NE(html.find("The rest is left out."), std::string::npos);
}

TEST(Html, NumbersThatAreNone) {
  Page p = page_of(40);
  std::vector<double>& v = p.charts[1].series[0].values;
  v[3] = v[4] = kNan;
  v[9] = kInfinity;
  v[10] = -kInfinity;
  p.charts[1].series[1].values.resize(7);  // shorter than the page
  p.charts[1].series[2].values.assign(40, kNan);
  p.charts[0].series[0].values.assign(40, 0.0);
  p.markers = {{kNan, "when?"}, {-5, "before"}, {1e300, "after"}};
  p.distributions[0].buckets.push_back({kNan, kInfinity, 3});
  p.distributions[0].figures.emplace_back("odd", kNan);
  p.maps[0].pkts.resize(100);
  const std::string html = write(p);
  EXPECT_EQ(html.find("nan"), std::string::npos);
  EXPECT_EQ(html.find("inf "), std::string::npos);
  const nlohmann::json data = data_of(html);
  EXPECT_TRUE(data["charts"][1]["series"][0]["v"][3].is_null());
  EXPECT_TRUE(data["charts"][1]["series"][1]["v"][20].is_null());
}

TEST(Html, TimesThatRunBackwardsEndThePage) {
  Page p = page_of(40);
  p.times_ns[30] = 5;
  EXPECT_EQ(data_of(write(p))["edges"].size(), 31U);
  p.times_ns[0] = kNan;
  EXPECT_EQ(write(p).find("id=\"data\""), std::string::npos);
}

TEST(Html, MarkersThatTouchShareALabel) {
  Page p = page_of(100);
  p.markers = {{50e3, "one"}, {50.5e3, "two"}, {51e3, "three"}, {90e3, "four"}};
  const std::string html = write(p);
  EXPECT_EQ(count(html, ">1–3</text>"), 3U) << "two charts and the map";
  EXPECT_EQ(count(html, ">4</text>"), 3U);
  EXPECT_EQ(count(html, "one</title>"), 3U);
}

TEST(Html, GapsInterruptALineUnlessItBridgesThem) {
  Page p = page_of(9, 1);
  p.charts[1].series[0].values = {1, 2, kNan, kNan, 3, 4, 5, kNan, 6};
  const auto pieces = [&] {
    const std::string html = write(p);
    const std::size_t at = html.find("class=\"line s0\" data-series=", html.find("id=\"cwnd\""));
    return count(html.substr(at, html.find("/>", at) - at), "M");
  };
  EXPECT_EQ(pieces(), 3U);
  p.charts[1].bridge_gaps = true;
  EXPECT_EQ(pieces(), 1U);
}

TEST(Html, SameValuesSameBytes) {
  EXPECT_EQ(write(page_of(100)), write(page_of(100)));
}

TEST(Text, Quantities) {
  EXPECT_EQ(quantity(0, Unit::kBitsPerSecond), "0 b/s");
  EXPECT_EQ(quantity(1.234e9, Unit::kBitsPerSecond), "1.23 Gb/s");
  EXPECT_EQ(quantity(45.6e3, Unit::kBytes), "45.6 kB");
  EXPECT_EQ(quantity(999, Unit::kNanoseconds), "999 ns");
  EXPECT_EQ(quantity(1500, Unit::kNanoseconds), "1.50 µs");
  EXPECT_EQ(quantity(2.5e9, Unit::kNanoseconds), "2.50 s");
  EXPECT_EQ(quantity(123456, Unit::kCount), "123456");
  EXPECT_EQ(quantity(kNan, Unit::kCount), "–");
}

TEST(Text, Ticks) {
  EXPECT_EQ(ticks(0, 10, 6), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(ticks(0, 0.7, 5).back(), 0.6000000000000001);
  for (const double end : {1e-9, 0.013, 1.0, 7.77, 9999.0, 3e12}) {
    const auto t = ticks(0, end, 6);
    EXPECT_GE(t.size(), 2U) << end;
    EXPECT_LE(t.size(), 6U) << end;
    EXPECT_LE(t.back(), end * 1.0001) << end;
  }
  EXPECT_EQ(ticks(5, 5, 6).size(), 1U);
  EXPECT_EQ(tick_label(0.30000000000000004, 0.1), "0.3");
  EXPECT_EQ(tick_label(1e-17, 0.1), "0");
}

TEST(Text, JsonNumbersReadBack) {
  for (const double v : {0.0, 1.0, -2.5, 0.000123456, 123456.0, 1.23456e9, 9.8765e14, 4e18}) {
    const double back = nlohmann::json::parse(json_number(v)).get<double>();
    EXPECT_NEAR(back, v, std::abs(v) * 1e-3);
  }
  EXPECT_EQ(json_number(123456789), "123500000");
  EXPECT_EQ(json_number(kInfinity), "null");
}

// Left of the limit's line is what keeps it, a ceiling or a floor.
TEST(Comparison, WhatKeepsItsLimitStandsLeftOfIt) {
  const auto first_dot = [](const Comparison::Row& row) {
    Page p;
    p.comparisons = {comparison_of({row})};
    const std::string text = write(p);
    return std::stod(text.substr(text.find("dot s0\" d=\"M") + 12));
  };
  const auto row = [](double value, double limit, bool at_most) {
    return Comparison::Row{"1", "n", {value, value, value}, {1, 1, 1}, limit, at_most, true};
  };
  const double line = first_dot(row(2, 2, true));
  EXPECT_LT(first_dot(row(1, 2, true)), line);
  EXPECT_GT(first_dot(row(3, 2, true)), line);
  EXPECT_GT(first_dot(row(1, 2, false)), line);
  EXPECT_LT(first_dot(row(3, 2, false)), line);
  EXPECT_EQ(first_dot(row(0, 0, true)), line) << "none were allowed, none were";
  EXPECT_GT(first_dot(row(1, 0, true)), line);
}

TEST(Comparison, AnyTextAndAnyNumber) {
  Page p;
  p.comparisons = {
      comparison_of({{"<b>", "\"&", {kNan, kInfinity, -1}, {0, kNan, -kInfinity}, kNan, false, false},
                     {"zero", "", {0, 0, 0}, {1e300, 1e300, 1e300}, 1e-300, true, true}})};
  Curve curve{"c", "<curve>", "", "<x>", "<y>", {}, {}};
  for (const double x : {kNan, -1.0, 0.0, 1.0, 2.0, 1e300}) curve.points.push_back({x, {1, kNan, 3}});
  curve.points.push_back({4, {1, 2, 3}});
  p.curves = {curve, {"empty", "empty", "", "x", "y", {}, "nothing <here>"}};
  const std::string text = write(p);
  EXPECT_EQ(text.find("<b>"), std::string::npos);
  EXPECT_EQ(text.find("<curve>"), std::string::npos);
  EXPECT_EQ(text.find("<here>"), std::string::npos);
  for (const char* bad : {"nan", "inf"}) EXPECT_EQ(text.find(std::string("M") + bad), std::string::npos);
  const std::size_t from = text.find("<svg");
  for (const char* bad : {"\"Mnan", "\"Minf", " nan", "Hnan", "Lnan"})
    EXPECT_EQ(text.find(bad, from), std::string::npos) << bad;
}

TEST(Comparison, TooManyRowsAreLeftOutAndThePageSaysSo) {
  Page p;
  p.comparisons = {
      comparison_of(std::vector<Comparison::Row>(5000, {"1", "n", {1, 1, 1}, {2, 2, 2}, 1.5, true, true}))};
  Curve curve{"c", "curve", "", "x", "y", {}, {}};
  for (int i = 1; i <= 5000; ++i) curve.points.push_back({static_cast<double>(i), {1, 2, 3}});
  p.curves = {curve};
  const std::string text = write(p);
  EXPECT_NE(text.find("The first 100 of 5000"), std::string::npos);
  EXPECT_LT(text.size(), 200'000U);
}

TEST(Curve, TheBestPointStandsLowest) {
  Page p;
  p.curves = {{"c", "curve", "", "x", "y", {{8, {3, 3, 3}}, {16, {1, 1, 1}}, {32, {2, 2, 2}}}, {}}};
  const std::string text = write(p);
  const std::size_t at = text.find("class=\"line s0\" d=\"M");
  double x[3];
  double y[3];
  ASSERT_EQ(std::sscanf(text.c_str() + at, "class=\"line s0\" d=\"M%lf %lfL%lf %lfL%lf %lf", &x[0], &y[0],
                        &x[1], &y[1], &x[2], &y[2]),
            6);
  EXPECT_DOUBLE_EQ(x[1] - x[0], x[2] - x[1]) << "each twice the one before";
  EXPECT_GT(y[1], y[2]);
  EXPECT_GT(y[2], y[0]);
}

}  // namespace
}  // namespace mrc::report::html
