// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html/plot.h"

namespace mrc::report::html {
namespace {

constexpr double kTop = 34;
constexpr double kRow = 34;
constexpr double kNames = 150;   ///< room for names at the left
constexpr double kValues = 150;  ///< and for values at the right
constexpr double kReach = 16;    ///< the scale ends at this many times the limit, and its reciprocal
constexpr double kCurveHeight = 220;

std::string number(double v) {
  return std::isfinite(v) ? fmt::format("{:.4g}", v) : "–";
}

std::string words(const Range& r) {
  return fmt::format("{} ({} to {})", number(r.median), number(r.low), number(r.high));
}

/// How often the limit fits: at most 1 keeps it, whether it is a ceiling or a floor.
double times_limit(const Comparison::Row& row, double v) {
  const double over = row.at_most ? v : row.limit;
  const double under = row.at_most ? row.limit : v;
  if (over == under) return 1;
  return !(under > 0) ? kReach * 2 : over / under;
}

double x_of(double times) {
  const double width = kWidth - kNames - kValues;
  if (!std::isfinite(times)) return kWidth - kValues;
  const double at = std::log(std::max(times, 1e-9)) / std::log(kReach);
  return kNames + (std::clamp(at, -1.0, 1.0) + 1) / 2 * width;
}

/// A disc or a diamond of the median on a bar from least to most; arrowheads where it leaves the scale.
std::string marks(const Comparison::Row& row, const Range& r, int series, double y, const std::string& name) {
  const auto place = [&](double v) { return x_of(times_limit(row, v)); };
  const double at = place(r.median);
  const double from = std::min(place(r.low), place(r.high));
  const double to = std::max(place(r.low), place(r.high));
  std::string out = fmt::format("<g><title>{}, {}: {}</title><path class=\"line s{}\" d=\"M{} {}H{}\"/>",
                                escaped(row.label), escaped(name), words(r), series, coordinate(from),
                                coordinate(y), coordinate(std::max(to, from + 1)));
  const bool beyond = times_limit(row, r.median) > kReach;
  if (beyond)
    out += fmt::format("<path class=\"dot s{}\" d=\"M{} {}l10 5l-10 5z\"/>", series, coordinate(at),
                       coordinate(y - 5));
  else if (series == 0)
    out += fmt::format("<path class=\"dot s0\" d=\"M{} {}a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z\"/>",
                       coordinate(at - 5), coordinate(y));
  else
    out += fmt::format("<path class=\"dot s1\" d=\"M{} {}l6 -6l6 6l-6 6z\"/>", coordinate(at - 6),
                       coordinate(y));
  return out + "</g>\n";
}

std::string scale(double bottom) {
  std::string out = "<g class=\"axis\">";
  for (const auto& [times, label] :
       {std::pair{1 / 16.0, "1/16"}, {1 / 4.0, "1/4"}, {1.0, "limit"}, {4.0, "4 ×"}, {16.0, "16 ×"}})
    out += fmt::format(
        "<path class=\"{}\" d=\"M{} {}V{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        times == 1 ? "limit" : "grid", coordinate(x_of(times)), coordinate(kTop - 6), coordinate(bottom + 4),
        coordinate(x_of(times)), coordinate(bottom + 18), label);
  return out + fmt::format(
                   "<text x=\"{}\" y=\"14\" text-anchor=\"end\">keeps it ←</text>"
                   "<text x=\"{}\" y=\"14\">→ misses it</text></g>\n",
                   coordinate(x_of(1) - 8), coordinate(x_of(1) + 8));
}

std::string key(const Comparison& c) {
  return fmt::format(
      "<p class=\"key\"><span><svg viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path class=\"line s0\" d=\"M1 "
      "6H27\"/>"
      "<path class=\"dot s0\" d=\"M9 6a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z\"/></svg>{}</span>"
      "<span><svg viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path class=\"line s1\" d=\"M1 6H27\"/>"
      "<path class=\"dot s1\" d=\"M8 6l6 -6l6 6l-6 6z\"/></svg>{}</span><span>medians on bars from least to "
      "most</span></p>\n",
      escaped(c.with_name), escaped(c.without_name));
}

template <class Drawing>
std::string opening(const Drawing& d) {
  return fmt::format("<section><h2>{}</h2><p class=\"about\">{}</p>\n", escaped(d.title), escaped(d.about));
}

template <class Drawing>
std::string nothing(const Drawing& d) {
  return fmt::format("<p class=\"absent\">{}</p></section>\n",
                     d.absent.empty() ? "Nothing was measured." : escaped(d.absent));
}

/// Upright positions of a curve, its scale from the least to the most that is drawn.
struct CurveFrame {
  double least = 0, most = 1, first = 0, last = 1;
  [[nodiscard]] double x(double v) const {
    const double span = std::max(last - first, 1e-9);
    return kLeft + std::clamp((std::log2(v) - first) / span, 0.0, 1.0) * kPlotWidth;
  }
  [[nodiscard]] double y(double v) const {
    return kTop + kCurveHeight -
           std::clamp((v - least) / std::max(most - least, 1e-12), 0.0, 1.0) * kCurveHeight;
  }
};

bool usable(const Curve::Point& p) {
  return p.x > 0 && std::isfinite(p.x) && std::isfinite(p.y.low) && std::isfinite(p.y.median) &&
         std::isfinite(p.y.high);
}

std::string path_of(const std::vector<Curve::Point>& points, const CurveFrame& f) {
  std::string d;
  for (const Curve::Point& p : points)
    d += fmt::format("{}{} {}", d.empty() ? "M" : "L", coordinate(f.x(p.x)), coordinate(f.y(p.y.median)));
  return d;
}

std::string band_of(const std::vector<Curve::Point>& points, const CurveFrame& f) {
  std::string d;
  for (const Curve::Point& p : points)
    d += fmt::format("{}{} {}", d.empty() ? "M" : "L", coordinate(f.x(p.x)), coordinate(f.y(p.y.high)));
  for (auto p = points.rbegin(); p != points.rend(); ++p)
    d += fmt::format("L{} {}", coordinate(f.x(p->x)), coordinate(f.y(p->y.low)));
  return d + "Z";
}

}  // namespace

std::string draw(const Comparison& c) {
  std::string out = opening(c);
  const std::size_t rows = std::min(c.rows.size(), kMaxComparisonRows);
  if (rows == 0) return out + nothing(c);
  const double bottom = kTop + static_cast<double>(rows) * kRow;
  out += open_svg(bottom + kAxisHeight, "comparison", c.id, c.title, c.about) + scale(bottom);
  for (std::size_t i = 0; i < rows; ++i) {
    const Comparison::Row& row = c.rows[i];
    const double y = kTop + (static_cast<double>(i) + 0.5) * kRow;
    out += fmt::format(
        "<text class=\"name{}\" x=\"{}\" y=\"{}\" text-anchor=\"end\" dy=\".35em\">{}{}</text>"
        "<text class=\"value\" x=\"{}\" y=\"{}\" dy=\".35em\">{} | {}</text>\n",
        row.holds ? "" : " misses", coordinate(kNames - 12), coordinate(y), row.holds ? "" : "✗ ",
        escaped(row.label), coordinate(kWidth - kValues + 24), coordinate(y), number(row.with.median),
        number(row.without.median));
    out += marks(row, row.with, 0, y - 6, c.with_name) + marks(row, row.without, 1, y + 6, c.without_name);
  }
  out += "</svg>\n" + key(c);
  out += "<table class=\"legend\"><thead><tr><th></th><th>limit</th>";
  out += fmt::format("<th>{}</th><th>{}</th></tr></thead><tbody>\n", escaped(c.with_name),
                     escaped(c.without_name));
  for (std::size_t i = 0; i < rows; ++i)
    out += fmt::format("<tr><th scope=\"row\">{}: {}</th><td>{} {}</td><td>{}</td><td>{}</td></tr>\n",
                       escaped(c.rows[i].label), escaped(c.rows[i].about), c.rows[i].at_most ? "≤" : "≥",
                       number(c.rows[i].limit), words(c.rows[i].with), words(c.rows[i].without));
  out += "</tbody></table>\n";
  if (rows < c.rows.size())
    out += fmt::format("<p class=\"about\">The first {} of {}.</p>", rows, c.rows.size());
  return out + "</section>\n";
}

std::string draw(const Curve& c) {
  std::string out = opening(c);
  std::vector<Curve::Point> points;
  for (const Curve::Point& p : c.points)
    if (usable(p) && points.size() < kMaxComparisonRows) points.push_back(p);
  if (points.empty()) return out + nothing(c);
  CurveFrame f;
  f.first = std::log2(points.front().x);
  f.last = std::log2(points.back().x);
  f.least = points.front().y.low;
  f.most = points.front().y.high;
  for (const Curve::Point& p : points) {
    f.least = std::min(f.least, p.y.low);
    f.most = std::max(f.most, p.y.high);
  }
  const double bottom = kTop + kCurveHeight;
  out += open_svg(bottom + kAxisHeight, "curve", c.id, c.title, c.about) + "<g class=\"axis\">";
  const std::vector<double> levels = ticks(f.least, f.most, 6);
  const double step = levels.size() > 1 ? levels[1] - levels[0] : 1;
  for (const double v : levels)
    out += fmt::format(
        "<path class=\"grid\" d=\"M{} {}H{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\" "
        "dy=\".35em\">{}</text>",
        coordinate(kLeft), coordinate(f.y(v)), coordinate(kLeft + kPlotWidth), coordinate(kLeft - 8),
        coordinate(f.y(v)), tick_label(v, step));
  for (const Curve::Point& p : points)
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", coordinate(f.x(p.x)),
                       coordinate(bottom + 18), number(p.x));
  out += fmt::format("<text x=\"{}\" y=\"14\">{}</text><text x=\"{}\" y=\"{}\">{}</text></g>\n",
                     coordinate(kLeft), escaped(c.y_name), coordinate(kLeft + kPlotWidth + 22),
                     coordinate(bottom + 18), escaped(c.x_name));
  out += fmt::format("<path class=\"band s0\" d=\"{}\"/><path class=\"line s0\" d=\"{}\"/>\n",
                     band_of(points, f), path_of(points, f));
  for (const Curve::Point& p : points)
    out += fmt::format(
        "<g><title>{} {}: {}</title><path class=\"dot s0\" d=\"M{} {}a4 4 0 1 0 8 0a4 4 0 1 0 -8 "
        "0z\"/></g>\n",
        number(p.x), escaped(c.x_name), words(p.y), coordinate(f.x(p.x) - 4), coordinate(f.y(p.y.median)));
  out += "</svg>\n<table class=\"legend\"><tbody>\n";
  for (const Curve::Point& p : points)
    out += fmt::format("<tr><th scope=\"row\">{} {}</th><td>{}</td></tr>\n", number(p.x), escaped(c.x_name),
                       words(p.y));
  return out + "</tbody></table></section>\n";
}

}  // namespace mrc::report::html
