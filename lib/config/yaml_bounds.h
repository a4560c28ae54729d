// SPDX-License-Identifier: BSD-3-Clause
// What can be said of a YAML text before a parser sees it. yaml-cpp keeps all tokens of a line, and of what
// brackets hold, before it raises an event, so nesting and number are bounded on the text as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mrc::config {

/// A line (from 1) and what is wrong with it.
struct TextFinding {
  std::uint32_t line = 1;
  std::string what;
};

/// Brackets open at once at most, and commas between brackets, as a parser will see them: not those in quotes
/// and comments. Never less than what the parser finds.
struct FlowShape {
  std::size_t depth = 0;
  std::uint32_t deepest_line = 1;
  std::size_t separators = 0;
  std::uint32_t last_separator_line = 1;
  std::uint32_t unclosed_quote_line = 0;  ///< 0: every quoted value ends on its line
};
FlowShape flow_shape(std::string_view text);

/// A tab where blanks indent: YAML allows blanks only, and its parsers say something else about it.
std::optional<std::uint32_t> line_indented_by_tab(std::string_view text);

/// Too deep, too much, indented by tabs. Limits: kMaxDepth, kMaxNodes.
std::optional<TextFinding> find_harm(std::string_view text);

}  // namespace mrc::config
