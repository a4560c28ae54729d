// SPDX-License-Identifier: BSD-3-Clause
// A YAML document as a plain tree with line numbers, and the bounds that keep a hostile or mistaken file
// harmless: size, depth, node count, no aliases (so no alias bombs), no duplicate keys, one document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mrc::config {

inline constexpr std::size_t kMaxFileBytes = 1U << 20;  ///< a configuration, not a data file
inline constexpr std::size_t kMaxNodes = 65536;         ///< enough for kMaxEvs explicit EVs with all keys
inline constexpr std::size_t kMaxDepth = 16;
inline constexpr std::size_t kMaxScalarBytes = 4096;

/// One node. Lines and columns count from 1.
struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  bool quoted = false;  ///< a quoted scalar is text, never a number or a boolean
  std::uint32_t line = 1;
  std::uint32_t column = 1;
  std::string scalar;
  std::vector<YamlNode> items;  ///< kSequence
  std::vector<Entry> entries;   ///< kMap, in file order, keys unique
};

struct YamlNode::Entry {
  std::string key;
  std::uint32_t line = 1;
  YamlNode value;
};

/// What a node is, for messages: "a list", "a map", "nothing", "text", "a number" ...
std::string describe(const YamlNode& node);

/// The line of a dotted key path ("qp.mtu", "planes[2].ip"): of the deepest part that the file has, 0 when
/// none.
std::uint32_t find_line(const YamlNode& root, std::string_view path);

/// Line of what came from the command line; messages say so instead of naming the file.
inline constexpr std::uint32_t kCommandLine = ~std::uint32_t{0};

/// Sets a dotted key path to a value in YAML, making maps and list items on the way; "name[+]" appends to a
/// list. Errors: the value is no YAML, or the path goes through something that is neither map nor list, names
/// an item that is no number or not the next, or is deeper than kMaxDepth.
Result<void> set_in_tree(YamlNode& root, std::string_view path, std::string_view value);

/// Parses `text`; `name` stands before the line in messages. An empty document is an empty map.
Result<YamlNode> parse_yaml(std::string_view text, const std::string& name);

/// Reads a file of at most `max_bytes`. Directories, missing and unreadable files, and pipes that nobody
/// writes to, are errors with the reason.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

}  // namespace mrc::config
