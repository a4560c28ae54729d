// SPDX-License-Identifier: BSD-3-Clause
#include "config/key_facts.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "config/endpoint_schema.h"
#include "config/printer.h"

namespace mrc::config {
namespace {

/// Visits as the Printer does and keeps what stands beside each key.
class Facts {
 public:
  Facts(std::map<std::string, std::string>& out, std::string prefix)
      : out_(out), prefix_(std::move(prefix)) {}

  template <class T>
  void integer(std::string_view key, const T& v, Range r, std::string_view /*doc*/) {
    add(key, fmt::format("{}", v), fmt::format("{} to {}", r.lo, r.hi));
  }
  void integer_or_none(std::string_view key, const std::int32_t& v, Range r, std::string_view /*doc*/) {
    add(key, v < 0 ? "none" : fmt::format("{}", v), fmt::format("none, or {} to {}", r.lo, r.hi));
  }
  template <class T>
  void integer_or_auto(std::string_view key, const T& v, const bool& is_auto, Range r,
                       std::string_view /*doc*/) {
    add(key, is_auto ? "auto" : fmt::format("{}", v), fmt::format("auto, or {} to {}", r.lo, r.hi));
  }
  void bytes(std::string_view key, const std::uint64_t& v, Range r, std::string_view /*doc*/) {
    add(key, fmt::format("{}", v), fmt::format("{} to {}", r.lo, r.hi));
  }
  void number(std::string_view key, const double& v, double lo, double hi, std::string_view /*doc*/) {
    add(key, fmt::format("{}", v), fmt::format("{} to {}", lo, hi));
  }
  void number_or_zero(std::string_view key, const double& v, double least, double hi,
                      std::string_view /*doc*/) {
    add(key, fmt::format("{}", v), fmt::format("0, or {} to {}", least, hi));
  }
  void micros(std::string_view key, const Duration& v, double lo, double hi, std::string_view /*doc*/) {
    add(key, fmt::format("{}", static_cast<double>(v.ns) / 1e3), fmt::format("{} to {}", lo, hi));
  }
  void flag(std::string_view /*key*/, const bool& /*v*/, std::string_view /*doc*/) {}
  void text(std::string_view key, const std::string& v, const TextRule& /*rule*/, std::string_view /*doc*/) {
    if (!v.empty()) add(key, v, "");
  }
  template <class E, std::size_t N>
  void choice(std::string_view key, const E& v, const Name<E> (&names)[N], std::string_view /*doc*/) {
    for (const Name<E>& n : names)
      if (n.value == v) add(key, std::string(n.name), "");
  }
  void texts(std::string_view, const std::vector<std::string>&, std::size_t, const TextRule&,
             std::string_view) {}
  void sizes(std::string_view, const std::vector<std::uint64_t>&, std::size_t, Range, std::string_view) {}
  template <class S>
  void section(std::string_view key, S& v, std::string_view /*doc*/) {
    Facts inner(out_, prefix_ + std::string(key) + ".");
    describe(inner, v);
  }
  template <class S>
  void list(std::string_view, std::vector<S>&, std::size_t, std::string_view) {}

 private:
  void add(std::string_view key, const std::string& value, const std::string& limits) {
    out_[prefix_ + std::string(key)] = "default " + value + (limits.empty() ? "" : "; " + limits);
  }

  std::map<std::string, std::string>& out_;
  const std::string prefix_;
};

}  // namespace

std::map<std::string, std::string> key_facts() {
  std::map<std::string, std::string> out;
  EndpointConfig c;
  Facts facts(out, "");
  describe(facts, c);
  return out;
}

}  // namespace mrc::config
