// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html/plot.h"

namespace mrc::report::html {
namespace {

constexpr double kTop = 62;  ///< room for the labels of percentiles, in rows
constexpr double kHeight = 150;
constexpr std::size_t kBins = 120;

/// Bins of equal width in the logarithm of the value.
struct Bins {
  double from = 0, to = 1;  ///< log10 of the ends
  std::vector<double> counts = std::vector<double>(kBins);
  std::uint64_t samples = 0;
  [[nodiscard]] double x(double value) const {
    const double at = (std::log10(std::max(value, 1e-300)) - from) / (to - from);
    return kLeft + std::clamp(at, 0.0, 1.0) * kPlotWidth;
  }
};

bool usable(const Distribution::Bucket& b) {
  return b.count != 0 && std::isfinite(b.low) && std::isfinite(b.high) && b.high >= b.low && b.high > 0;
}

Bins bins_of(const Distribution& d) {
  Bins out;
  double low = 0;
  double high = 0;
  for (const Distribution::Bucket& b : d.buckets) {
    if (!usable(b)) continue;
    const double from = b.low > 0 ? b.low : b.high / 2;  // a logarithm has no zero
    low = out.samples == 0 ? from : std::min(low, from);
    high = std::max(high, b.high);
    out.samples += b.count;
  }
  if (out.samples == 0) return out;
  // At least a factor of two, so that one value is a bar and not a wall.
  const double middle = std::sqrt(low) * std::sqrt(high);
  low = std::min(low / 1.05, middle / 1.5);
  high = std::max(high * 1.05, middle * 1.5);
  out.from = std::log10(low);
  out.to = std::log10(high);
  const double width = (out.to - out.from) / kBins;
  for (const Distribution::Bucket& b : d.buckets) {
    if (!usable(b)) continue;
    const double from = (std::log10(b.low > 0 ? b.low : b.high / 2) - out.from) / width;
    const double to = std::max((std::log10(b.high) - out.from) / width, from + 1e-9);
    for (auto k = static_cast<std::size_t>(std::max(from, 0.0)); k < kBins && static_cast<double>(k) < to;
         ++k) {
      const double overlap =
          std::min(to, static_cast<double>(k + 1)) - std::max(from, static_cast<double>(k));
      out.counts[k] += static_cast<double>(b.count) * std::max(overlap, 0.0) / (to - from);
    }
  }
  return out;
}

std::string bars(const Distribution& d, const Bins& bins, double most, double bottom) {
  std::string out;
  const double width = kPlotWidth / kBins;
  for (std::size_t k = 0; k < kBins; ++k) {
    if (bins.counts[k] <= 0) continue;
    const double height = std::max(bins.counts[k] / most * kHeight, 1.0);
    const double low = std::pow(10, bins.from + (bins.to - bins.from) * static_cast<double>(k) / kBins);
    const double high = std::pow(10, bins.from + (bins.to - bins.from) * static_cast<double>(k + 1) / kBins);
    out +=
        fmt::format("<path class=\"bar\" d=\"M{} {}v{}h{}v{}z\"><title>{} to {}: {:.2f} %</title></path>\n",
                    coordinate(kLeft + static_cast<double>(k) * width + 0.5), coordinate(bottom),
                    coordinate(-height), coordinate(width - 1), coordinate(height), quantity(low, d.unit),
                    quantity(high, d.unit), 100 * bins.counts[k] / static_cast<double>(bins.samples));
  }
  return out;
}

/// Round values: the 1, 2 and 5 of each power of ten, those of one step where less than a power is shown.
std::vector<double> round_values(const Bins& bins) {
  const double low = std::pow(10, bins.from);
  const double high = std::pow(10, bins.to);
  if (high < 8 * low) return ticks(low, high, 9);
  const bool wide = high > 300 * low;
  std::vector<double> out;
  for (double power = std::floor(bins.from); power <= bins.to; ++power)
    for (const double f : {1.0, 2.0, 5.0})
      if (!wide || f == 1) out.push_back(f * std::pow(10, power));
  std::erase_if(out, [&](double v) { return v < low || v > high; });
  return out;
}

std::string value_ticks(const Bins& bins, Unit unit, double bottom) {
  std::string out = "<g class=\"axis\">";
  for (const double v : round_values(bins)) {
    const std::string x = coordinate(bins.x(v));
    out += fmt::format(
        "<path class=\"grid\" d=\"M{} {}V{}\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x,
        coordinate(kTop), coordinate(bottom + 4), x, coordinate(bottom + 18), quantity(v, unit));
  }
  return out + "</g>\n";
}

/// Vertical lines with names; names that would touch stand in rows above each other.
std::string figure_lines(const Distribution& d, const Bins& bins, double bottom) {
  std::string out;
  double last = -1e9;
  int row = 0;
  for (const auto& [name, value] : d.figures) {
    if (!std::isfinite(value) || value <= 0) continue;
    const double x = bins.x(value);
    row = x - last < 110 ? (row + 1) % 4 : 0;
    last = x;
    const double y = kTop - 8 - 13 * row;
    out +=
        fmt::format("<g class=\"figure\"><path d=\"M{} {}V{}\"/><text x=\"{}\" y=\"{}\">{} {}</text></g>\n",
                    coordinate(x), coordinate(y - 8), coordinate(bottom), coordinate(x + 4), coordinate(y),
                    escaped(name), quantity(value, d.unit));
  }
  return out;
}

}  // namespace

void fill(Distribution& d, const Histogram& h) {
  h.for_each_bucket([&](std::uint64_t low, std::uint64_t high, std::uint64_t count) {
    d.buckets.push_back({static_cast<double>(low), static_cast<double>(high), count});
  });
  if (h.samples() == 0) return;
  for (const auto& [name, percent] : {std::pair{"p50", 50.0}, {"p99", 99.0}, {"p99.9", 99.9}})
    d.figures.emplace_back(name, static_cast<double>(h.percentile(percent)));
  d.figures.emplace_back("most", static_cast<double>(h.max()));
}

std::string draw(const Distribution& d) {
  std::string out =
      fmt::format("<section><h2>{}</h2><p class=\"about\">{}</p>\n", escaped(d.title), escaped(d.about));
  const Bins bins = bins_of(d);
  if (bins.samples == 0)
    return out + fmt::format("<p class=\"absent\">{}</p></section>\n",
                             d.absent.empty() ? "No samples." : escaped(d.absent));
  const double most = *std::max_element(bins.counts.begin(), bins.counts.end());
  const double bottom = kTop + kHeight;
  out += open_svg(bottom + kAxisHeight, "histogram", d.id, d.title, d.about);
  out += value_ticks(bins, d.unit, bottom) + bars(d, bins, most, bottom) + figure_lines(d, bins, bottom);
  out += fmt::format(
      "<g class=\"axis\"><text x=\"{}\" y=\"{}\" text-anchor=\"end\" dy=\".35em\">{:.3g} %</text>"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" dy=\".35em\">0</text></g></svg>\n",
      coordinate(kLeft - 8), coordinate(kTop), 100 * most / static_cast<double>(bins.samples),
      coordinate(kLeft - 8), coordinate(bottom));
  out += fmt::format("<table class=\"legend\"><tbody><tr><th scope=\"row\">samples</th><td>{}</td></tr>\n",
                     bins.samples);
  for (const auto& [name, value] : d.figures)
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", escaped(name),
                       quantity(value, d.unit));
  return out + "</tbody></table></section>\n";
}

}  // namespace mrc::report::html
