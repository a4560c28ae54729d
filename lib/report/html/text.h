// SPDX-License-Identifier: BSD-3-Clause
// Words and numbers as HTML wants them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/html/page.h"

namespace mrc::report::html {

/// Safe as text and as a quoted attribute. Control characters and bytes that are no UTF-8 become U+FFFD.
std::string escaped(std::string_view text);
/// A JSON string with its quotes, safe inside a script element.
std::string json_string(std::string_view text);
/// At most four significant digits, no exponent between 1e-4 and 1e15; "null" when it is no number.
std::string json_number(double v);
/// A coordinate: two decimals at most.
std::string coordinate(double v);

/// Numbers are divided by `divisor` and shown with `unit`.
struct Scale {
  double divisor = 1;
  std::string unit;
};
/// The prefix that suits values up to `largest`.
Scale scale_for(Unit unit, double largest);
/// "12.3 Gb/s"
std::string quantity(double v, Unit unit);

inline std::string rate(double bps) {
  return quantity(bps, Unit::kBitsPerSecond);
}
/// A dash for what never happened (below 0).
inline std::string duration(double ns) {
  return ns < 0 ? "–" : quantity(ns, Unit::kNanoseconds);
}
inline std::string duration(std::int64_t ns) {
  return duration(static_cast<double>(ns));
}
inline std::string bytes(std::uint64_t n) {
  return quantity(static_cast<double>(n), Unit::kBytes);
}

/// Round positions from `from` to `to`, at most `most` of them: steps of 1, 2 or 5 times a power of ten.
std::vector<double> ticks(double from, double to, std::size_t most);
/// The label of one of these, at the precision that their distance asks for.
std::string tick_label(double v, double step);

}  // namespace mrc::report::html
