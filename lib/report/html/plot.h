// SPDX-License-Identifier: BSD-3-Clause
// What everything drawn over time shares: the columns that samples are joined into, the frame, its axis and
// the markers through it. Plots are aligned, so that one moment is one vertical line on the whole page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/html/page.h"
#include "report/html/text.h"

namespace mrc::report::html {

// Geometry in SVG units; a plot is as wide as the page's column.
inline constexpr double kWidth = 1040;
inline constexpr double kLeft = 84;
inline constexpr double kRight = 84;
inline constexpr double kAxisHeight = 34;  ///< below a plot: ticks, labels, unit
inline constexpr double kPlotWidth = kWidth - kLeft - kRight;

/// Samples joined into at most a number of columns; column k covers samples [first(k), first(k + 1)).
class Columns {
 public:
  Columns(const Page& page, std::size_t most);
  [[nodiscard]] std::size_t size() const { return columns_; }
  [[nodiscard]] std::size_t samples() const { return samples_; }
  [[nodiscard]] std::size_t first(std::size_t column) const { return column * samples_ / columns_; }
  [[nodiscard]] double begin_ns() const { return start_ns_; }
  [[nodiscard]] double end_ns() const { return ends_->empty() ? start_ns_ : ends_->back(); }
  /// When a sample, a column begins and ends.
  [[nodiscard]] double sample_begin_ns(std::size_t sample) const {
    return sample == 0 ? start_ns_ : (*ends_)[sample - 1];
  }
  [[nodiscard]] double column_begin_ns(std::size_t column) const { return sample_begin_ns(first(column)); }
  [[nodiscard]] double column_middle_ns(std::size_t column) const {
    return (column_begin_ns(column) + sample_begin_ns(first(column + 1))) / 2;
  }
  /// The horizontal place of a time.
  [[nodiscard]] double x(double t_ns) const;

 private:
  const std::vector<double>* ends_;
  std::size_t samples_;
  std::size_t columns_;
  double start_ns_;
};

/// A series by column. Means are weighted by the length of the samples.
struct Joined {
  std::vector<double> mean, low, high;
  [[nodiscard]] double largest() const;  ///< of all that is drawn; 0: nothing is
  [[nodiscard]] bool empty() const;      ///< no number at all
};
Joined joined(const Series& series, const Columns& columns);

/// An SVG element with a name and a description for those who do not see it; close it with "</svg>".
std::string open_svg(double height, std::string_view css_class, std::string_view id, std::string_view title,
                     std::string_view about);
/// Ticks, labels and unit under a plot whose lower edge is `bottom`, grid lines up to `top`.
std::string time_axis(const Columns& columns, double top, double bottom);
/// Lines through the plot, numbered as in the page's list, which is in order of time.
std::string marker_lines(const Page& page, const Columns& columns, double top, double bottom);
/// Grid lines and labels of a vertical scale from 0 to `largest`; its unit above. Gives the scale's upper
/// end, a round number.
double value_axis(std::string& out, Unit unit, double largest, double top, double bottom,
                  std::size_t most_ticks);

}  // namespace mrc::report::html
