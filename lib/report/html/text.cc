// SPDX-License-Identifier: BSD-3-Clause
#include "report/html/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace mrc::report::html {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Length of the UTF-8 sequence that begins at `at`; 0: there is none.
std::size_t sequence_bytes(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t n = lead >= 0xF0 && lead < 0xF5   ? 4
                        : lead >= 0xE0 && lead < 0xF0 ? 3
                        : lead >= 0xC2 && lead < 0xE0 ? 2
                                                      : 0;
  if (n == 0 || at + n > s.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
  // Neither overlong, nor a surrogate, nor beyond the last code point.
  const unsigned char second = byte(at + 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)) return 0;
  if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F)) return 0;
  return n;
}

/// Each character of `text`, with what must not stay replaced by `f` of it (empty: it stays).
template <class F>
std::string mapped(std::string_view text, F f) {
  std::string out;
  out.reserve(text.size() + 16);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = sequence_bytes(text, i);
    if (n == 0) {
      out += kReplacement;
      ++i;
      continue;
    }
    const std::string_view instead = n == 1 ? f(text[i]) : std::string_view{};
    out += instead.empty() ? text.substr(i, n) : instead;
    i += n;
  }
  return out;
}

bool is_control(char c) {
  const auto u = static_cast<unsigned char>(c);
  return (u < 0x20 && c != '\n' && c != '\t') || u == 0x7F;
}

struct Prefix {
  double factor;
  const char* text;
};
constexpr std::array<Prefix, 5> kDecimal{{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}};
constexpr std::array<Prefix, 4> kTime{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};

const char* base_unit(Unit unit) {
  switch (unit) {
    case Unit::kBitsPerSecond:
      return "b/s";
    case Unit::kBytes:
      return "B";
    case Unit::kPacketsPerSecond:
      return "pkt/s";
    case Unit::kCount:
    case Unit::kNanoseconds:
      return "";
  }
  return "";
}

}  // namespace

std::string escaped(std::string_view text) {
  return mapped(text, [](char c) -> std::string_view {
    switch (c) {
      case '&':
        return "&amp;";
      case '<':
        return "&lt;";
      case '>':
        return "&gt;";
      case '"':
        return "&quot;";
      case '\'':
        return "&#39;";
      default:
        return is_control(c) ? kReplacement : std::string_view{};
    }
  });
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  out += mapped(text, [](char c) -> std::string_view {
    switch (c) {
      case '"':
        return "\\\"";
      case '\\':
        return "\\\\";
      case '<':
        return "\\u003c";  // no "</script>", no "<!--"
      case '\n':
        return "\\n";
      case '\t':
        return "\\t";
      default:
        return is_control(c) ? kReplacement : std::string_view{};
    }
  });
  return out + "\"";
}

std::string json_number(double v) {
  if (!std::isfinite(v)) return "null";
  const double size = std::abs(v);
  if (size >= 1000 && size < 1e15) {
    // Four digits are kept, the rest are zeros: "123400", which is as short as it gets without an exponent.
    const double step = std::pow(10, std::floor(std::log10(size)) - 3);
    return fmt::format("{:.0f}", std::round(v / step) * step);
  }
  return fmt::format("{:.4g}", v);
}

std::string coordinate(double v) {
  if (!std::isfinite(v)) v = 0;
  std::string s = fmt::format("{:.2f}", v);
  while (s.back() == '0') s.pop_back();
  if (s.back() == '.') s.pop_back();
  return s == "-0" ? "0" : s;
}

Scale scale_for(Unit unit, double largest) {
  largest = std::isfinite(largest) ? std::abs(largest) : 0;
  if (unit == Unit::kNanoseconds) {
    for (const Prefix& p : kTime)
      if (largest >= p.factor) return {p.factor, p.text};
    return {1, "ns"};
  }
  for (const Prefix& p : kDecimal)
    if (largest >= p.factor) return {p.factor, std::string(p.text) + base_unit(unit)};
  return {1, base_unit(unit)};
}

std::string quantity(double v, Unit unit) {
  if (!std::isfinite(v)) return "–";
  if (unit == Unit::kCount && std::abs(v) < 1e6 && v == std::floor(v)) return fmt::format("{:.0f}", v);
  const Scale s = scale_for(unit, v);
  const double shown = v / s.divisor;
  const double size = std::abs(shown);
  const int decimals = size >= 100 || shown == 0 ? 0 : size >= 10 ? 1 : 2;
  return fmt::format("{:.{}f}{}{}", shown, decimals, s.unit.empty() ? "" : " ", s.unit);
}

std::vector<double> ticks(double from, double to, std::size_t most) {
  if (!std::isfinite(from) || !std::isfinite(to) || to <= from || most < 2) return {from};
  const double rough = (to - from) / static_cast<double>(most - 1);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double f : {1.0, 2.0, 5.0}) {
    if (rough <= f * power * (1 + 1e-9)) {
      step = f * power;
      break;
    }
  }
  std::vector<double> out;
  for (double k = std::ceil(from / step - 1e-9); k * step <= to + step * 1e-6 && out.size() < most; ++k)
    out.push_back(k * step);
  return out;
}

std::string tick_label(double v, double step) {
  if (std::abs(v) < step * 1e-6) return "0";
  const int decimals = step > 0 && step < 1 ? static_cast<int>(std::ceil(-std::log10(step) - 1e-9)) : 0;
  return fmt::format("{:.{}f}", v, std::clamp(decimals, 0, 9));
}

}  // namespace mrc::report::html
