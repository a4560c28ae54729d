// SPDX-License-Identifier: BSD-3-Clause
#include "config/yaml_bounds.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/yaml_tree.h"

namespace mrc::config {
namespace {

bool is_break(char c) {
  return c == '\n' || c == '\r' || c == '\0';  // the latter stands for the end
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || is_break(c);
}
bool is_one_of(char c, std::string_view set) {
  return set.find(c) != std::string_view::npos;
}

/// Walks over the text as yaml-cpp's scanner does where brackets are concerned: what is a word, what is
/// quoted, what is a comment. Where the two differ (block scalars, words over several lines of block style)
/// there are no real brackets, and `open_` can only be too large.
class FlowScanner {
 public:
  explicit FlowScanner(std::string_view text) : text_(text) {}

  FlowShape scan() {
    while (at_ < text_.size()) step(text_[at_]);
    return shape_;
  }

 private:
  [[nodiscard]] char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void step(char c) {
    if (is_blank(c)) {
      // In block style a new line begins something new or goes on with the word; only the former has
      // brackets.
      if (is_break(c) && open_ == 0) in_word_ = false;
      if (in_tag_) in_word_ = in_tag_ = false;
      line_ += c == '\n' ? 1 : 0;
      ++at_;
    } else if (c == '#' && (!in_word_ || is_blank(text_[at_ - 1]))) {
      at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
    } else if (in_word_) {
      step_in_word(c);
    } else if (c == '\'' || c == '"') {
      skip_quoted(c);
    } else if (is_one_of(c, "[]{},")) {
      punctuation(c);
    } else {
      const bool mark =
          c == ':' && (after_json_ || is_blank(next()) || (open_ > 0 && is_one_of(next(), ",]}")));
      in_word_ = !mark && !(is_one_of(c, "-?") && is_blank(next()));
      in_tag_ = is_one_of(c, "&*!");
      after_json_ = false;
      ++at_;
    }
  }
  void step_in_word(char c) {
    const bool ends =
        open_ > 0 ? is_one_of(c, "[]{},?") || (c == ':' && (is_blank(next()) || is_one_of(next(), ",]}")))
                  : c == ':' && is_blank(next());
    if (ends || (in_tag_ && is_one_of(c, "[]{},"))) {
      in_word_ = in_tag_ = false;  // and the character is looked at again
    } else {
      ++at_;
    }
  }
  /// One that does not end on its line is told: what follows could be seen in two ways.
  void skip_quoted(char quote) {
    after_json_ = true;
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\' && quote == '"' && next() != '\n') {
        ++at_;
      } else if (text_[at_] == quote) {
        if (quote == '\'' && next() == quote) {
          ++at_;  // '' stands for one
          continue;
        }
        ++at_;
        return;
      }
    }
    if (shape_.unclosed_quote_line == 0) shape_.unclosed_quote_line = line_;
  }
  void punctuation(char c) {
    after_json_ = c == ']' || c == '}';
    if (c == '[' || c == '{') {
      if (++open_ > shape_.depth) {
        shape_.depth = open_;
        shape_.deepest_line = line_;
      }
    } else if (after_json_) {
      open_ -= open_ > 0 ? 1 : 0;
    } else if (open_ > 0) {
      ++shape_.separators;
      shape_.last_separator_line = line_;
    }
    ++at_;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::size_t open_ = 0;
  bool in_word_ = false;     ///< quotes, and in block style brackets, are letters
  bool in_tag_ = false;      ///< a word that ends at the next blank
  bool after_json_ = false;  ///< a ':' is one without a blank behind it too
  FlowShape shape_;
};

}  // namespace

FlowShape flow_shape(std::string_view text) {
  return FlowScanner(text).scan();
}

std::optional<std::uint32_t> line_indented_by_tab(std::string_view text) {
  std::uint32_t line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view indent = text.substr(0, std::min(text.find_first_not_of(" \t"), end));
    const bool says_something =
        indent.size() < end && text[indent.size()] != '#' && text[indent.size()] != '\r';
    if (says_something && indent.find('\t') != std::string_view::npos) return line;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

std::optional<TextFinding> find_harm(std::string_view text) {
  if (const auto line = line_indented_by_tab(text)) {
    return TextFinding{*line, "a tab indents this line; YAML takes blanks only, replace it by blanks"};
  }
  const FlowShape shape = flow_shape(text);
  if (shape.unclosed_quote_line != 0) {
    return TextFinding{shape.unclosed_quote_line,
                       "a quoted value does not end on its line; write it in one line"};
  }
  if (shape.depth > kMaxDepth) {
    return TextFinding{shape.deepest_line, fmt::format("nested deeper than {} levels", kMaxDepth)};
  }
  if (shape.separators > kMaxNodes) {
    return TextFinding{shape.last_separator_line, fmt::format("more than {} values in one file", kMaxNodes)};
  }
  return std::nullopt;
}

}  // namespace mrc::config
