// SPDX-License-Identifier: BSD-3-Clause
// The visitor that writes a configuration as YAML: every key with its value, and, when asked, its
// documentation and limits as comments. What it writes loads back to the same values.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/time.h"
#include "config/schema.h"

namespace mrc::config {

class Printer {
 public:
  Printer(std::string& out, bool annotate, std::string indent = {})
      : out_(out), indent_(std::move(indent)), annotate_(annotate) {}

  template <class T>
  void integer(std::string_view key, const T& v, Range range, std::string_view doc) {
    line(key, fmt::format("{}", v), doc, fmt::format("{} to {}", range.lo, range.hi));
  }
  void integer_or_none(std::string_view key, const std::int32_t& v, Range range, std::string_view doc) {
    line(key, v < 0 ? "none" : fmt::format("{}", v), doc,
         fmt::format("none, or {} to {}", range.lo, range.hi));
  }
  template <class T>
  void integer_or_auto(std::string_view key, const T& v, const bool& is_auto, Range range,
                       std::string_view doc) {
    line(key, is_auto ? "auto" : fmt::format("{}", v), doc,
         fmt::format("auto, or {} to {}", range.lo, range.hi));
  }
  void bytes(std::string_view key, const std::uint64_t& v, Range range, std::string_view doc) {
    line(key, fmt::format("{}", v), doc, fmt::format("{} to {}, K M G allowed", range.lo, range.hi));
  }
  void number(std::string_view key, const double& v, double lo, double hi, std::string_view doc) {
    line(key, fmt::format("{}", v), doc, fmt::format("{} to {}", lo, hi));
  }
  void number_or_zero(std::string_view key, const double& v, double lo, double hi, std::string_view doc) {
    line(key, fmt::format("{}", v), doc, fmt::format("0, or {} to {}", lo, hi));
  }
  void micros(std::string_view key, const Duration& v, double lo, double hi, std::string_view doc) {
    line(key, fmt::format("{}", static_cast<double>(v.ns) / 1e3), doc, fmt::format("{} to {}", lo, hi));
  }
  void flag(std::string_view key, const bool& v, std::string_view doc) {
    line(key, v ? "true" : "false", doc, "");
  }
  void text(std::string_view key, const std::string& v, const TextRule& rule, std::string_view doc) {
    line(key, quote(v), doc, rule.what);
  }
  template <class E, std::size_t N>
  void choice(std::string_view key, const E& v, const Name<E> (&names)[N], std::string_view doc) {
    std::string all;
    std::string_view now;
    for (const Name<E>& n : names) {
      all += (all.empty() ? "" : " | ") + std::string(n.name);
      if (n.value == v) now = n.name;
    }
    line(key, std::string(now), doc, all);
  }
  void texts(std::string_view key, const std::vector<std::string>& v, std::size_t max, const TextRule& rule,
             std::string_view doc) {
    std::vector<std::string> quoted;
    for (const std::string& s : v) quoted.push_back(quote(s));
    line(key, fmt::format("[{}]", fmt::join(quoted, ", ")), doc,
         fmt::format("up to {}, each {}", max, rule.what));
  }
  void sizes(std::string_view key, const std::vector<std::uint64_t>& v, std::size_t max, Range range,
             std::string_view doc) {
    line(key, fmt::format("[{}]", fmt::join(v, ", ")), doc,
         fmt::format("up to {}, each {} to {}, K M G allowed", max, range.lo, range.hi));
  }
  template <class S>
  void section(std::string_view key, S& v, std::string_view doc) {
    comment(doc, "");
    fmt::format_to(std::back_inserter(out_), "{}{}:\n", lead(), key);
    Printer inner(out_, annotate_, indent_ + "  ");
    describe(inner, v);
  }
  template <class S>
  void list(std::string_view key, std::vector<S>& v, std::size_t max, std::string_view doc) {
    comment(doc, fmt::format("up to {}", max));
    fmt::format_to(std::back_inserter(out_), "{}{}:{}\n", lead(), key, v.empty() ? " []" : "");
    for (S& item : v) {
      Printer inner(out_, false, indent_ + "    ");
      inner.dash_ = true;
      describe(inner, item);
    }
    if (annotate_ && v.empty()) {
      S sample{};
      Printer inner(out_, true, indent_ + "#   ");
      describe(inner, sample);
    }
  }
  void finish() const {}
  /// In double quotes, as YAML reads it.
  static std::string quote(std::string_view v) {
    std::string q = "\"";
    for (const char c : v) {
      if (c == '"' || c == '\\') q += '\\';
      q += c;
    }
    return q + '"';
  }

 private:
  std::string lead() {
    if (!dash_) return indent_;
    dash_ = false;  // the first key of a list item carries the dash
    return indent_.substr(0, indent_.size() - 2) + "- ";
  }
  void comment(std::string_view doc, std::string_view limits) {
    if (!annotate_) return;
    fmt::format_to(std::back_inserter(out_), "{}# {}{}\n", indent_, doc,
                   limits.empty() ? "" : fmt::format(" ({})", limits));
  }
  void line(std::string_view key, const std::string& value, std::string_view doc, std::string_view limits) {
    comment(doc, limits);
    fmt::format_to(std::back_inserter(out_), "{}{}: {}\n", lead(), key, value);
  }
  std::string& out_;
  std::string indent_;
  bool annotate_ = false;
  bool dash_ = false;
};

}  // namespace mrc::config
