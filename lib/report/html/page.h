// SPDX-License-Identifier: BSD-3-Clause
// A run as one HTML file: values in, text out. The file needs no network, no other file and no script to be
// read; the script in it adds a crosshair with values. Readable in light and dark, colours that colour-blind
// people tell apart, and never a colour alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mrc::report::html {

/// What the numbers of a chart count; decides the prefix and the words of axes.
enum class Unit : std::uint8_t { kCount, kBitsPerSecond, kBytes, kNanoseconds, kPacketsPerSecond };

/// One number per sample of the page; a NaN is a gap. `low` and `high` are empty or as long, and say what a
/// value summarises: they are drawn as a band.
struct Series {
  std::string name;
  std::vector<double> values;
  std::vector<double> low;
  std::vector<double> high;
};

/// kLines: all in one frame, told apart by colour and dashes. kStrips: one strip a series, one scale for all,
/// for things that should look alike.
enum class Layout : std::uint8_t { kLines, kStrips };

struct TimeChart {
  std::string id;  ///< letters, digits and '-'; unique on the page
  std::string title;
  std::string about;  ///< what was measured, how; a sentence
  Unit unit = Unit::kCount;
  Layout layout = Layout::kLines;
  std::vector<Series> series;
  std::string absent;        ///< said when there is nothing to draw
  bool bridge_gaps = false;  ///< samples without a value do not interrupt the line
};

/// Something that happened, drawn through every chart over time. In order of time.
struct Marker {
  double t_ns = 0;
  std::string text;
};

/// How an EV stood; the worse one wins where cells are joined.
enum class EvCell : std::uint8_t { kGood, kSkip, kAssumedBad, kPlaneDown, kDenied };

/// EVs over time as a heat map: colour by state, GOOD ones shaded by the packets they carried.
struct EvMap {
  struct Row {
    std::string label;
    unsigned plane = 0;
  };
  std::string title;
  std::string about;
  std::vector<Row> rows;             ///< in the order to be drawn, planes together
  std::vector<std::uint8_t> states;  ///< EvCell; row r at sample s: [r * samples + s]
  std::vector<std::uint32_t> pkts;   ///< the same shape: packets sent in the sample
  std::string absent;
};

/// A histogram and its summary.
struct Distribution {
  struct Bucket {
    double low = 0, high = 0;  ///< [low, high)
    std::uint64_t count = 0;
  };
  std::string id;
  std::string title;
  std::string about;
  Unit unit = Unit::kNanoseconds;
  std::vector<Bucket> buckets;                          ///< rising; gaps allowed
  std::vector<std::pair<std::string, double>> figures;  ///< p50, p99 ...: drawn as lines and listed
  std::string absent;
};

/// Some measurements of one number.
struct Range {
  double low = 0, median = 0, high = 0;
};

/// Numbers beside their limits, each measured twice: with something and without. One row each, all on one
/// scale of how often the limit fits into the number (for a floor: the number into the limit).
struct Comparison {
  struct Row {
    std::string label;
    std::string about;
    Range with, without;
    double limit = 0;
    bool at_most = true;  ///< the limit is a ceiling, else a floor
    bool holds = true;
  };
  std::string id;
  std::string title;
  std::string about;
  std::string with_name, without_name;
  std::vector<Row> rows;
  std::string absent;
};

/// One number over another that grows by factors, such as a size.
struct Curve {
  struct Point {
    double x = 0;  ///< above 0, rising
    Range y;
  };
  std::string id;
  std::string title;
  std::string about;
  std::string x_name, y_name;
  std::vector<Point> points;
  std::string absent;
};

struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  bool open = false;
};

/// Text as it stands, folded away: configuration, output of a program.
struct Text {
  std::string title;
  std::string text;
};

/// A number that the reader should see first.
struct Figure {
  std::string label;
  std::string value;
  std::string detail;
};

struct Page {
  std::string title;
  std::string subtitle;  ///< scenario, command
  std::string clock;     ///< "virtual time", "real time, virtual fabric": whose time the axes show
  std::string verdict;   ///< "pass", or why not
  bool pass = true;
  std::vector<Figure> figures;
  double start_ns = 0;           ///< where the first sample begins
  std::vector<double> times_ns;  ///< where each sample ends, rising
  std::vector<Marker> markers;
  std::vector<TimeChart> charts;  ///< drawn in this order, the map after the first `charts_before_map`
  std::size_t charts_before_map = 1;
  std::vector<EvMap> maps;
  std::vector<Distribution> distributions;
  std::vector<Comparison> comparisons;
  std::vector<Curve> curves;
  std::vector<Table> tables;
  std::vector<Text> texts;
  std::string footer;  ///< program, version, how it was sampled
};

/// Samples above this are joined: values by their mean with a band from least to most, states by the worst.
inline constexpr std::size_t kMaxColumns = 480;
inline constexpr std::size_t kMaxMapColumns = 240;
inline constexpr std::size_t kMaxMapRows = 1024;  ///< more are left out, and the page says so
inline constexpr std::size_t kMaxTableRows = 1000;
inline constexpr std::size_t kMaxMarkers = 40;
inline constexpr std::size_t kMaxComparisonRows = 100;  ///< and points of a curve
inline constexpr std::size_t kMaxTextBytes = 256 << 10;

/// The whole document. Any text is escaped, any number may be NaN or infinite; sizes that do not fit each
/// other are cut to the shorter. Never larger than a few MB, whatever the number of samples.
std::string write(const Page& page);

}  // namespace mrc::report::html
