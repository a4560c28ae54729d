// SPDX-License-Identifier: BSD-3-Clause
#include "config/loader.h"

#include <fmt/format.h>

#include <charconv>

namespace mrc::config {
namespace {

bool parse_real(std::string_view text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(out);
}

}  // namespace

bool parse_count(std::string_view text, bool suffix, std::uint64_t& out) {
  unsigned shift = 0;
  if (suffix && !text.empty()) {
    const char last = text.back();
    shift = last == 'K' || last == 'k'   ? 10
            : last == 'M' || last == 'm' ? 20
            : last == 'G' || last == 'g' ? 30
                                         : 0;
    if (shift != 0) text.remove_suffix(1);
  }
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    return false;  // YAML 1.1 reads it as octal, people do not
  }
  std::uint64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, base);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  if (shift != 0 && v > (~std::uint64_t{0} >> shift)) return false;
  out = v << shift;
  return true;
}

std::string Loader::join(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

std::string Loader::item_path(std::string_view key, std::size_t i) const {
  return fmt::format("{}[{}]", join(key), i);
}

const YamlNode* Loader::find(std::string_view key) {
  if (known_.empty() || known_.back() != key) known_.push_back(key);
  for (const YamlNode::Entry& entry : map_.entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

bool Loader::says(std::string_view key, std::string_view word) {
  const YamlNode* node = find(key);
  return node != nullptr && node->kind == YamlNode::Kind::kScalar && node->scalar == word;
}

bool Loader::expect(const YamlNode& node, std::string_view key, YamlNode::Kind kind,
                    std::string_view wanted) {
  if (node.kind == kind) return true;
  diagnostics_.add(node.line, join(key),
                   fmt::format("expected {}, found {}", wanted, mrc::config::describe(node)));
  return false;
}

const YamlNode* Loader::find_scalar(std::string_view key, std::string_view wanted) {
  const YamlNode* node = find(key);
  if (node == nullptr || !expect(*node, key, YamlNode::Kind::kScalar, wanted)) return nullptr;
  return node;
}

const YamlNode* Loader::find_list(std::string_view key, std::size_t max) {
  const YamlNode* node = find(key);
  if (node == nullptr || !expect(*node, key, YamlNode::Kind::kSequence, "a list")) return nullptr;
  if (node->items.size() > max) {
    diagnostics_.add(node->line, join(key),
                     fmt::format("{} entries; the limit is {}", node->items.size(), max));
    return nullptr;
  }
  return node;
}

bool Loader::parse_unsigned(const YamlNode& node, const std::string& path, std::uint64_t& out, Range range,
                            bool suffix) {
  const std::string_view wanted = suffix ? "a number of bytes (4096, 64K, 1M)" : "a whole number";
  if (node.kind != YamlNode::Kind::kScalar || node.quoted || !parse_count(node.scalar, suffix, out)) {
    diagnostics_.add(node.line, path,
                     fmt::format("expected {} from {} to {}, found {}", wanted, range.lo, range.hi,
                                 mrc::config::describe(node)));
    return false;
  }
  if (out < range.lo || out > range.hi) {
    diagnostics_.add(
        node.line, path,
        fmt::format("{} is {} the limit {}; use {} to {}", node.scalar, out < range.lo ? "below" : "above",
                    out < range.lo ? range.lo : range.hi, range.lo, range.hi));
    return false;
  }
  return true;
}

bool Loader::read_unsigned(std::string_view key, std::uint64_t& out, Range range, bool suffix) {
  const YamlNode* node = find(key);
  return node != nullptr && parse_unsigned(*node, join(key), out, range, suffix);
}

void Loader::integer_or_none(std::string_view key, std::int32_t& out, Range range, std::string_view /*doc*/) {
  const YamlNode* node = find(key);
  if (node == nullptr) return;
  if (node->kind == YamlNode::Kind::kScalar && node->scalar == "none") {
    out = -1;
    return;
  }
  std::uint64_t v = 0;
  if (parse_unsigned(*node, join(key), v, range, false)) out = static_cast<std::int32_t>(v);
}

bool Loader::read_number(std::string_view key, double& out, double lo, double hi) {
  const YamlNode* node = find_scalar(key, fmt::format("a number from {} to {}", lo, hi));
  if (node == nullptr) return false;
  double v = 0;
  if (node->quoted || !parse_real(node->scalar, v)) {
    diagnostics_.add(
        node->line, join(key),
        fmt::format("expected a number from {} to {}, found {}", lo, hi, mrc::config::describe(*node)));
    return false;
  }
  if (v < lo || v > hi) {
    diagnostics_.add(node->line, join(key),
                     fmt::format("{} is {} the limit {}; use {} to {}", node->scalar,
                                 v < lo ? "below" : "above", v < lo ? lo : hi, lo, hi));
    return false;
  }
  out = v;
  return true;
}

void Loader::number(std::string_view key, double& out, double lo, double hi, std::string_view /*doc*/) {
  double v = 0;
  if (read_number(key, v, lo, hi)) out = v;
}

void Loader::number_or_zero(std::string_view key, double& out, double lo, double hi, std::string_view doc) {
  const YamlNode* node = find(key);
  double v = 0;
  if (node != nullptr && node->kind == YamlNode::Kind::kScalar && !node->quoted &&
      parse_real(node->scalar, v) && v == 0)
    out = 0;
  else
    number(key, out, lo, hi, doc);
}

void Loader::micros(std::string_view key, Duration& out, double lo, double hi, std::string_view /*doc*/) {
  double v = 0;
  if (read_number(key, v, lo, hi)) out = nanoseconds(std::llround(v * 1e3));
}

void Loader::flag(std::string_view key, bool& out, std::string_view /*doc*/) {
  const YamlNode* node = find_scalar(key, "true or false");
  if (node == nullptr) return;
  const std::string& s = node->scalar;
  if (!node->quoted && (s == "true" || s == "yes" || s == "on")) {
    out = true;
  } else if (!node->quoted && (s == "false" || s == "no" || s == "off")) {
    out = false;
  } else {
    diagnostics_.add(node->line, join(key), "expected true or false, found " + mrc::config::describe(*node));
  }
}

bool Loader::check_text(const YamlNode& node, const std::string& path, const TextRule& rule) {
  if (node.kind == YamlNode::Kind::kScalar && (node.scalar.empty() || rule.ok(node.scalar))) return true;
  diagnostics_.add(node.line, path,
                   // Quoted or not is all the same to a text.
                   fmt::format("expected {}, found {}", rule.what,
                               node.kind == YamlNode::Kind::kScalar ? fmt::format("'{:.60}'", node.scalar)
                                                                    : mrc::config::describe(node)));
  return false;
}

void Loader::text(std::string_view key, std::string& out, const TextRule& rule, std::string_view /*doc*/) {
  const YamlNode* node = find(key);
  if (node != nullptr && check_text(*node, join(key), rule)) out = node->scalar;
}

void Loader::texts(std::string_view key, std::vector<std::string>& out, std::size_t max, const TextRule& rule,
                   std::string_view /*doc*/) {
  const YamlNode* node = find_list(key, max);
  if (node == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    if (check_text(node->items[i], item_path(key, i), rule)) out.push_back(node->items[i].scalar);
  }
}

void Loader::sizes(std::string_view key, std::vector<std::uint64_t>& out, std::size_t max, Range range,
                   std::string_view /*doc*/) {
  const YamlNode* node = find_list(key, max);
  if (node == nullptr) return;
  out.clear();
  for (std::size_t i = 0; i < node->items.size(); ++i) {
    std::uint64_t v = 0;
    if (parse_unsigned(node->items[i], item_path(key, i), v, range, true)) out.push_back(v);
  }
}

int Loader::read_choice(std::string_view key, std::span<const std::string_view> known) {
  const YamlNode* node = find_scalar(key, fmt::format("one of {}", fmt::join(known, ", ")));
  if (node == nullptr) return -1;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (node->scalar == known[i]) return static_cast<int>(i);
  }
  const std::string_view near = nearest(node->scalar, known);
  diagnostics_.add(node->line, join(key),
                   fmt::format("'{:.60}' is not one of {}{}", node->scalar, fmt::join(known, ", "),
                               near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  return -1;
}

void Loader::finish() const {
  for (const YamlNode::Entry& entry : map_.entries) {
    bool known = false;
    for (const std::string_view k : known_) known = known || k == entry.key;
    if (!known) {
      diagnostics_.add(entry.line, join(entry.key.substr(0, 60)),
                       "unknown key" + suggestion(entry.key, known_));
    }
  }
}

}  // namespace mrc::config
