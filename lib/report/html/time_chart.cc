// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/time_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mrc::report::html {
namespace {

constexpr double kTop = 34;
constexpr double kLinesHeight = 200;
constexpr double kStripGap = 8;
constexpr std::size_t kColours = 8;

/// Strips get lower the more there are.
double strip_height(std::size_t strips) {
  return strips <= 4 ? 52 : strips <= 8 ? 40 : 28;
}

/// A vertical scale: 0 at `bottom`, `largest` at `top`.
struct Frame {
  double top = 0, bottom = 0, largest = 1;
  [[nodiscard]] double y(double v) const {
    return bottom - std::clamp(v / largest, 0.0, 1.0) * (bottom - top);
  }
};

/// The line through the columns' means; gaps interrupt it, a single point is a dot.
std::string line(const Joined& j, const Columns& columns, const Frame& f, bool bridge_gaps) {
  std::string d;
  bool drawing = false;
  for (std::size_t k = 0; k < j.mean.size(); ++k) {
    if (!std::isfinite(j.mean[k])) {
      drawing = drawing && bridge_gaps;
      continue;
    }
    d += fmt::format("{}{} {}", drawing ? "L" : "M", coordinate(columns.x(columns.column_middle_ns(k))),
                     coordinate(f.y(j.mean[k])));
    if (!drawing) d += "h.01";
    drawing = true;
  }
  return d;
}

/// Closed shapes between two curves, one for each stretch without a gap.
std::string area(const std::vector<double>& lower, const std::vector<double>& upper, const Columns& columns,
                 const Frame& f) {
  std::string d;
  for (std::size_t k = 0; k < upper.size();) {
    if (!std::isfinite(upper[k])) {
      ++k;
      continue;
    }
    std::size_t end = k;
    while (end < upper.size() && std::isfinite(upper[end])) ++end;
    const auto add_point = [&](char command, std::size_t i, double v) {
      d += fmt::format("{}{} {}", command, coordinate(columns.x(columns.column_middle_ns(i))),
                       coordinate(f.y(v)));
    };
    for (std::size_t i = k; i < end; ++i) add_point(i == k ? 'M' : 'L', i, upper[i]);
    for (std::size_t i = end; i-- > k;) add_point('L', i, lower.empty() ? 0 : lower[i]);
    d += 'Z';
    k = end;
  }
  return d;
}

bool has_band(const Joined& j) {
  for (std::size_t k = 0; k < j.mean.size(); ++k)
    if (std::isfinite(j.mean[k]) && (j.low[k] != j.mean[k] || j.high[k] != j.mean[k])) return true;
  return false;
}

/// Mean over time, least and most of what was measured.
struct Summary {
  double mean = NAN, low = NAN, high = NAN;
};
Summary summary_of(const Joined& j, const Columns& columns) {
  Summary s;
  double sum = 0;
  double weight = 0;
  for (std::size_t k = 0; k < j.mean.size(); ++k) {
    if (!std::isfinite(j.mean[k])) continue;
    const double length =
        std::max(columns.sample_begin_ns(columns.first(k + 1)) - columns.column_begin_ns(k), 1e-9);
    sum += j.mean[k] * length;
    weight += length;
    s.low = std::isfinite(s.low) ? std::min(s.low, j.low[k]) : j.low[k];
    s.high = std::isfinite(s.high) ? std::max(s.high, j.high[k]) : j.high[k];
  }
  if (weight > 0) s.mean = sum / weight;
  return s;
}

std::string draw_lines(const Page& page, const TimeChart& chart, const std::vector<Joined>& all,
                       const Columns& columns, double largest) {
  Frame f{kTop, kTop + kLinesHeight, 1};
  std::string out = open_svg(f.bottom + kAxisHeight, "lines", chart.id, chart.title, chart.about);
  f.largest = value_axis(out, chart.unit, largest, f.top, f.bottom, 6);
  out += time_axis(columns, f.top, f.bottom);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (has_band(all[i]))
      out += fmt::format("<path class=\"band s{}\" d=\"{}\"/>\n", i % kColours,
                         area(all[i].low, all[i].high, columns, f));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty())
      out += fmt::format("<path class=\"line s{}\" data-series=\"{}\" d=\"{}\"/>\n", i % kColours,
                         escaped(chart.series[i].name), line(all[i], columns, f, chart.bridge_gaps));
  return out + marker_lines(page, columns, f.top, f.bottom) + "</svg>\n";
}

std::string draw_strips(const Page& page, const TimeChart& chart, const std::vector<Joined>& all,
                        const Columns& columns, double largest) {
  const double height = strip_height(all.size());
  const double bottom = kTop + static_cast<double>(all.size()) * (height + kStripGap) - kStripGap;
  std::string out = open_svg(bottom + kAxisHeight, "strips", chart.id, chart.title, chart.about);
  out += time_axis(columns, kTop, bottom);
  const double end = largest > 0 ? largest : 1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double top = kTop + static_cast<double>(i) * (height + kStripGap);
    const Frame f{top, top + height, end};
    const std::string left = coordinate(kLeft - 8);
    const std::string right = coordinate(kLeft + kPlotWidth + 8);
    out += fmt::format("<rect class=\"strip\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                       coordinate(kLeft), coordinate(top), coordinate(kPlotWidth), coordinate(height));
    if (!all[i].empty()) {
      out += fmt::format(
          "<path class=\"fill s0\" d=\"{}\"/><path class=\"line s0\" data-series=\"{}\" d=\"{}\"/>",
          area({}, all[i].mean, columns, f), escaped(chart.series[i].name),
          line(all[i], columns, f, chart.bridge_gaps));
    }
    out += fmt::format(
        "<text class=\"name\" x=\"{}\" y=\"{}\" text-anchor=\"end\" dy=\".35em\">{}</text>"
        "<text class=\"value\" x=\"{}\" y=\"{}\" dy=\".35em\">{}</text>\n",
        left, coordinate(top + height / 2), escaped(chart.series[i].name), right,
        coordinate(top + height / 2), quantity(summary_of(all[i], columns).mean, chart.unit));
  }
  out += fmt::format(
      "<text class=\"value\" x=\"{}\" y=\"{}\">mean</text>"
      "<text class=\"value\" x=\"{}\" y=\"12\">each strip from 0 to {}</text>",
      coordinate(kLeft + kPlotWidth + 8), coordinate(kTop - 12), coordinate(kLeft),
      quantity(end, chart.unit));
  return out + marker_lines(page, columns, kTop, bottom) + "</svg>\n";
}

/// Names with their lines, and in numbers what the plot shows.
std::string legend(const TimeChart& chart, const std::vector<Joined>& all, const Columns& columns) {
  const bool lines = chart.layout == Layout::kLines;
  std::string out =
      "<table "
      "class=\"legend\"><thead><tr><th></th><th>mean</th><th>least</th><th>most</th></tr></thead><tbody>\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Summary s = summary_of(all[i], columns);
    out += fmt::format(
        "<tr><th scope=\"row\"><svg class=\"key\" viewBox=\"0 0 28 10\" aria-hidden=\"true\"><path "
        "class=\"line s{}\" "
        "d=\"M1 5H27\"/></svg>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        lines ? i % kColours : 0, escaped(chart.series[i].name), quantity(s.mean, chart.unit),
        quantity(s.low, chart.unit), quantity(s.high, chart.unit));
  }
  out += "</tbody></table>\n";
  return lines ? out : "<details><summary>in numbers</summary>" + out + "</details>\n";
}

std::string json_of(const TimeChart& chart, const std::vector<Joined>& all) {
  std::string out = fmt::format("{{\"id\":{},\"unit\":{},\"series\":[", json_string(chart.id),
                                static_cast<int>(chart.unit));
  for (std::size_t i = 0; i < all.size(); ++i) {
    out += fmt::format("{}{{\"name\":{},\"v\":[", i == 0 ? "" : ",", json_string(chart.series[i].name));
    for (std::size_t k = 0; k < all[i].mean.size(); ++k)
      out += fmt::format("{}{}", k == 0 ? "" : ",", json_number(all[i].mean[k]));
    out += "]}";
  }
  return out + "]}";
}

}  // namespace

DrawnChart draw(const Page& page, const TimeChart& chart, const Columns& columns) {
  DrawnChart drawn;
  drawn.html = fmt::format("<section><h2>{}</h2><p class=\"about\">{}</p>\n", escaped(chart.title),
                           escaped(chart.about));
  std::vector<Joined> all;
  double largest = 0;
  bool any = false;
  for (std::size_t i = 0; i < chart.series.size() && i < kMaxSeries; ++i) {
    all.push_back(joined(chart.series[i], columns));
    largest = std::max(largest, all.back().largest());
    any = any || !all.back().empty();
  }
  if (!any) {
    const char* none = columns.size() == 0 ? "No samples: the run was shorter than one sampling interval."
                                           : "Nothing was measured.";
    drawn.html += fmt::format("<p class=\"absent\">{}</p></section>\n",
                              chart.absent.empty() ? std::string(none) : escaped(chart.absent));
    return drawn;
  }
  drawn.html += chart.layout == Layout::kLines ? draw_lines(page, chart, all, columns, largest)
                                               : draw_strips(page, chart, all, columns, largest);
  drawn.html += legend(chart, all, columns);
  if (chart.series.size() > kMaxSeries)
    drawn.html += fmt::format("<p class=\"about\">The first {} of {}.</p>", kMaxSeries, chart.series.size());
  drawn.html += "</section>\n";
  drawn.json = json_of(chart, all);
  return drawn;
}

}  // namespace mrc::report::html
