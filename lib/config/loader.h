// SPDX-License-Identifier: BSD-3-Clause
// The visitor that fills checked structs from a YAML map. A value that is refused leaves the struct's default
// in place and adds one line to the diagnostics; loading goes on, so that one run shows every error.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/time.h"
#include "config/diagnostics.h"
#include "config/schema.h"
#include "config/yaml_tree.h"

namespace mrc::config {

/// Visits one map. `path` names it in messages ("qp", "planes[2]"); empty at the root.
class Loader {
 public:
  Loader(const YamlNode& map, Diagnostics& diagnostics, std::string path)
      : map_(map), diagnostics_(diagnostics), path_(std::move(path)) {}
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  template <class T>
  void integer(std::string_view key, T& out, Range range, std::string_view /*doc*/) {
    static_assert(std::is_unsigned_v<T>);
    std::uint64_t v = 0;
    if (read_unsigned(key, v, range, false)) out = static_cast<T>(v);
  }
  /// -1 stands for "none", written as the word.
  void integer_or_none(std::string_view key, std::int32_t& out, Range range, std::string_view doc);
  template <class T>
  void integer_or_auto(std::string_view key, T& out, bool& is_auto, Range range, std::string_view doc) {
    if (says(key, "auto")) {
      is_auto = true;
      return;
    }
    if (find(key) != nullptr) is_auto = false;
    integer(key, out, range, doc);
  }
  void bytes(std::string_view key, std::uint64_t& out, Range range, std::string_view /*doc*/) {
    std::uint64_t v = 0;
    if (read_unsigned(key, v, range, true)) out = v;
  }
  void number(std::string_view key, double& out, double lo, double hi, std::string_view doc);
  /// 0, which stands for something else than so little, or lo to hi.
  void number_or_zero(std::string_view key, double& out, double lo, double hi, std::string_view doc);
  void micros(std::string_view key, Duration& out, double lo, double hi, std::string_view doc);
  void flag(std::string_view key, bool& out, std::string_view doc);
  void text(std::string_view key, std::string& out, const TextRule& rule, std::string_view doc);
  void texts(std::string_view key, std::vector<std::string>& out, std::size_t max, const TextRule& rule,
             std::string_view doc);
  void sizes(std::string_view key, std::vector<std::uint64_t>& out, std::size_t max, Range range,
             std::string_view doc);

  template <class E, std::size_t N>
  void choice(std::string_view key, E& out, const Name<E> (&names)[N], std::string_view /*doc*/) {
    std::string_view known[N];
    for (std::size_t i = 0; i < N; ++i) known[i] = names[i].name;
    const int i = read_choice(key, known);
    if (i >= 0) out = names[i].value;
  }
  template <class S>
  void section(std::string_view key, S& out, std::string_view /*doc*/) {
    const YamlNode* node = find(key);
    if (node == nullptr || node->kind == YamlNode::Kind::kNull) return;
    if (!expect(*node, key, YamlNode::Kind::kMap, "a map of 'key: value' lines")) return;
    load_map(*node, join(key), out);
  }
  /// A given list replaces the default as a whole.
  template <class S>
  void list(std::string_view key, std::vector<S>& out, std::size_t max, std::string_view /*doc*/) {
    const YamlNode* node = find_list(key, max);
    if (node == nullptr) return;
    out.clear();
    for (std::size_t i = 0; i < node->items.size(); ++i) {
      const std::string where = item_path(key, i);
      if (node->items[i].kind != YamlNode::Kind::kMap) {
        diagnostics_.add(node->items[i].line, where,
                         "expected a map, found " + mrc::config::describe(node->items[i]));
        continue;
      }
      load_map(node->items[i], where, out.emplace_back());
    }
  }

  /// Reports keys of the map that no call asked for. Called once, last.
  void finish() const;

 private:
  template <class S>
  void load_map(const YamlNode& node, const std::string& path, S& out) {
    Loader inner(node, diagnostics_, path);
    describe(inner, out);
    inner.finish();
  }

  const YamlNode* find(std::string_view key);
  const YamlNode* find_list(std::string_view key, std::size_t max);
  /// A scalar node for `key`, or nullptr when absent or refused.
  const YamlNode* find_scalar(std::string_view key, std::string_view wanted);
  bool says(std::string_view key, std::string_view word);
  bool expect(const YamlNode& node, std::string_view key, YamlNode::Kind kind, std::string_view wanted);
  bool read_unsigned(std::string_view key, std::uint64_t& out, Range range, bool suffix);
  bool parse_unsigned(const YamlNode& node, const std::string& path, std::uint64_t& out, Range range,
                      bool suffix);
  bool read_number(std::string_view key, double& out, double lo, double hi);
  int read_choice(std::string_view key, std::span<const std::string_view> known);
  bool check_text(const YamlNode& node, const std::string& path, const TextRule& rule);
  [[nodiscard]] std::string join(std::string_view key) const;
  [[nodiscard]] std::string item_path(std::string_view key, std::size_t i) const;

  const YamlNode& map_;
  Diagnostics& diagnostics_;
  std::string path_;
  std::vector<std::string_view> known_;
};

/// Parses "4096", "0x1000" and, with `suffix`, "64K", "1M", "2G". False: not such a number (or > 2^64 - 1).
bool parse_count(std::string_view text, bool suffix, std::uint64_t& out);

}  // namespace mrc::config
