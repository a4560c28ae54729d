// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mrc::report::html {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double at(const std::vector<double>& v, std::size_t i, double otherwise) {
  return i < v.size() && std::isfinite(v[i]) ? v[i] : otherwise;
}

}  // namespace

Columns::Columns(const Page& page, std::size_t most)
    : ends_(&page.times_ns),
      samples_(page.times_ns.size()),
      columns_(std::min(samples_, most)),
      start_ns_(page.start_ns) {}

double Columns::x(double t_ns) const {
  const double span = end_ns() - begin_ns();
  if (!(span > 0) || !std::isfinite(t_ns)) return kLeft;
  return kLeft + std::clamp((t_ns - begin_ns()) / span, 0.0, 1.0) * kPlotWidth;
}

double Joined::largest() const {
  double most = 0;
  for (const std::vector<double>* v : {&mean, &high})
    for (const double x : *v)
      if (std::isfinite(x)) most = std::max(most, x);
  return most;
}

bool Joined::empty() const {
  return std::none_of(mean.begin(), mean.end(), [](double x) { return std::isfinite(x); });
}

Joined joined(const Series& series, const Columns& columns) {
  Joined out;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    double sum = 0;
    double weight = 0;
    double low = kNone;
    double high = kNone;
    for (std::size_t i = columns.first(k); i < columns.first(k + 1); ++i) {
      const double v = at(series.values, i, kNone);
      if (!std::isfinite(v)) continue;
      const double length = std::max(columns.sample_begin_ns(i + 1) - columns.sample_begin_ns(i), 1e-9);
      sum += v * length;
      weight += length;
      const double least = at(series.low, i, v);
      const double most = at(series.high, i, v);
      low = std::isfinite(low) ? std::min(low, least) : least;
      high = std::isfinite(high) ? std::max(high, most) : most;
    }
    out.mean.push_back(weight > 0 ? sum / weight : kNone);
    out.low.push_back(low);
    out.high.push_back(high);
  }
  return out;
}

std::string open_svg(double height, std::string_view css_class, std::string_view id, std::string_view title,
                     std::string_view about) {
  return fmt::format(
      "<svg class=\"plot {}\" id=\"{}\" viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{}-t {}-d\">"
      "<title id=\"{}-t\">{}</title><desc id=\"{}-d\">{}</desc>\n",
      css_class, escaped(id), kWidth, coordinate(height), escaped(id), escaped(id), escaped(id),
      escaped(title), escaped(id), escaped(about));
}

std::string time_axis(const Columns& columns, double top, double bottom) {
  const double from = columns.begin_ns();
  const double to = columns.end_ns();
  const Scale scale = scale_for(Unit::kNanoseconds, std::max(std::abs(from), std::abs(to)));
  const std::vector<double> at = ticks(from / scale.divisor, to / scale.divisor, 11);
  const double step = at.size() > 1 ? at[1] - at[0] : 1;
  std::string out = "<g class=\"axis\">";
  for (const double t : at) {
    const std::string x = coordinate(columns.x(t * scale.divisor));
    out += fmt::format(
        "<path class=\"grid\" d=\"M{} {}V{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x,
        coordinate(top), coordinate(bottom + 4), x, coordinate(bottom + 18), tick_label(t, step));
  }
  return out + fmt::format("<text x=\"{}\" y=\"{}\">{}</text></g>\n", coordinate(kLeft + kPlotWidth + 14),
                           coordinate(bottom + 18), scale.unit);
}

std::string marker_lines(const Page& page, const Columns& columns, double top, double bottom) {
  std::string lines;
  std::string labels;
  // Numbers that would touch share a label: "2-4". The list is in order of time.
  constexpr double kApart = 16;
  std::size_t first = 0, last = 0;
  double from = 0, to = -1e9;
  const auto close_label = [&] {
    if (to < 0) return;
    labels += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                          coordinate((from + to) / 2), coordinate(top - 6),
                          first == last ? fmt::format("{}", first) : fmt::format("{}–{}", first, last));
  };
  for (std::size_t i = 0; i < page.markers.size() && i < kMaxMarkers; ++i) {
    const Marker& m = page.markers[i];
    if (!(m.t_ns >= columns.begin_ns() && m.t_ns <= columns.end_ns())) continue;
    const double x = columns.x(m.t_ns);
    lines +=
        fmt::format("<path d=\"M{} {}V{}\"><title>{}: {}</title></path>", coordinate(x), coordinate(top - 3),
                    coordinate(bottom), quantity(m.t_ns, Unit::kNanoseconds), escaped(m.text));
    if (std::abs(x - to) >= kApart) {
      close_label();
      first = i + 1;
      from = x;
    }
    last = i + 1;
    to = x;
  }
  close_label();
  return lines.empty() ? "" : "<g class=\"marker\">" + lines + labels + "</g>\n";
}

double value_axis(std::string& out, Unit unit, double largest, double top, double bottom,
                  std::size_t most_ticks) {
  const Scale scale = scale_for(unit, largest);
  double end = largest / scale.divisor;
  if (!(end > 0)) end = 1;
  std::vector<double> at = ticks(0, end, most_ticks);
  const double step = at.size() > 1 ? at[1] - at[0] : end;
  if (at.back() < end * (1 - 1e-9)) at.push_back(at.back() + step);  // the curve stays below the upper end
  end = at.back();
  out += "<g class=\"axis\">";
  for (const double v : at) {
    const std::string y = coordinate(bottom - v / end * (bottom - top));
    out += fmt::format(
        "<path class=\"grid\" d=\"M{} {}H{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"end\" "
        "dy=\".35em\">{}</text>",
        coordinate(kLeft), y, coordinate(kLeft + kPlotWidth), coordinate(kLeft - 8), y, tick_label(v, step));
  }
  if (!scale.unit.empty())
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", coordinate(kLeft - 8),
                       coordinate(top - 12), scale.unit);
  out += "</g>\n";
  return end * scale.divisor;
}

}  // namespace mrc::report::html
