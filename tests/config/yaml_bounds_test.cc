// SPDX-License-Identifier: BSD-3-Clause
#include "config/yaml_bounds.h"

#include <gtest/gtest.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "config/yaml_tree.h"

namespace mrc::config {
namespace {

std::string error_of(std::string_view text) {
  const Result<YamlNode> r = parse_yaml(text, "f.yaml");
  return r ? "" : r.error().message;
}

std::string times(std::string_view piece, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += piece;
  return out;
}

TEST(YamlBounds, CountsBracketsThatAreBrackets) {
  EXPECT_EQ(flow_shape("a: [1, {b: [2]}]").depth, 3U);
  EXPECT_EQ(flow_shape("a: '[[[['\nb: \"{{\\\"{{\"\n# [[[[[\nc: it's [1]\n").depth, 0U);
  EXPECT_EQ(flow_shape("a: ['it''s [', \"[\"]").depth, 1U);
  EXPECT_EQ(flow_shape("a: [b#[c]]").depth, 2U) << "within a word no comment without a blank before";
  EXPECT_EQ(flow_shape("a: [#[c]]\n").depth, 1U);
  EXPECT_EQ(flow_shape("dev: a[0][1\nb: x{{{\n").depth, 0U) << "letters of a word";
  EXPECT_EQ(flow_shape("a: [x?[y]]").depth, 2U);
  const FlowShape two_lines = flow_shape("a: [\n [1, 2], [[3]]]\n");
  EXPECT_EQ(two_lines.depth, 3U);
  EXPECT_EQ(two_lines.deepest_line, 2U);
  EXPECT_EQ(two_lines.separators, 2U);
}

TEST(YamlBounds, ClosingBracketsInQuotesOrCommentsHideNoDepth) {
  for (const std::string& text : {"a: " + times("[']',", 20), "a:\n" + times(" [ #]\n", 20),
                                  "a: " + times("[\"]\",", 20), "a: " + times("{']': ", 20)}) {
    EXPECT_NE(error_of(text).find("nested deeper than 16 levels"), std::string::npos) << error_of(text);
  }
  EXPECT_EQ(error_of("a:\n" + times(" [ #]\n", 20)), "f.yaml:21: nested deeper than 16 levels");
}

TEST(YamlBounds, CountsBeforeTheParserDoes) {
  EXPECT_EQ(error_of("a: [" + times("1,", 400000) + "1]"), "f.yaml:1: more than 65536 values in one file");
}

TEST(YamlBounds, QuotesEndOnTheirLine) {
  EXPECT_EQ(error_of("a: 1\nb: 'x\n y'\n"),
            "f.yaml:2: a quoted value does not end on its line; write it in one line");
  EXPECT_EQ(error_of("a: it's\nb: don't \"do it\n"), "");
}

TEST(YamlBounds, NamesATabThatIndents) {
  EXPECT_EQ(error_of("qp:\n\tmtu: 1024\n"),
            "f.yaml:2: a tab indents this line; YAML takes blanks only, replace it by blanks");
  EXPECT_EQ(error_of("qp:\n  mtu: 1024\n  \tmpr: 3\n").substr(0, 25), "f.yaml:3: a tab indents t");
  EXPECT_EQ(error_of("qp:\n\t\n\t# a comment\n  mtu:\t1024\t# here they separate\n"), "");
}

/// Brackets open at once, by the events of yaml-cpp.
class DepthOfEvents : public YAML::EventHandler {
 public:
  explicit DepthOfEvents(const std::string& text) : text_(text) {}
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    open(mark, '[');
  }
  void OnSequenceEnd() override { stack_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    open(mark, '{');
  }
  void OnMapEnd() override { stack_.pop_back(); }

  std::size_t deepest = 0;

 private:
  /// Collections without a bracket of their own (block style, a pair in a list) count as none; a pair begins
  /// where its key does, and that may be a bracket: the same one.
  void open(const YAML::Mark& mark, char bracket) {
    const auto at = static_cast<std::size_t>(mark.pos);
    const bool counts = at < text_.size() && text_[at] == bracket;
    for (std::size_t& outer : stack_) {
      if (counts && outer == at) outer = text_.size();
    }
    stack_.push_back(counts ? at : text_.size());
    deepest = std::max(deepest, stack_.size() - static_cast<std::size_t>(
                                                    std::count(stack_.begin(), stack_.end(), text_.size())));
  }
  const std::string& text_;
  std::vector<std::size_t> stack_;
};

// Random texts of the characters that matter: the scan before the parser never sees less than the parser.
TEST(YamlBounds, NeverLessThanTheParser) {
  Rng rng(4);
  constexpr std::string_view kPieces[] = {"[",   "[",    "{",  "]", "}", "'", "\"", ",",  ": ", ":",
                                          "#",   " #",   "\n", " ", "a", "b", "\\", "- ", "? ", "''",
                                          "x'y", "\n  ", "|",  ">", "&", "*", "!",  "-"};
  std::size_t deep = 0;
  for (int i = 0; i < 60000; ++i) {
    std::string text = "k: ";
    for (std::uint64_t n = 2 + rng.below(24); n > 0; --n) text += kPieces[rng.below(std::size(kPieces))];
    std::istringstream in(text);
    DepthOfEvents events(text);
    try {
      YAML::Parser parser(in);
      parser.HandleNextDocument(events);
    } catch (const YAML::Exception&) {  // what came before counts
    }
    deep += events.deepest >= 2 ? 1 : 0;
    if (flow_shape(text).unclosed_quote_line != 0) continue;  // refused
    ASSERT_GE(flow_shape(text).depth, events.deepest) << text;
  }
  EXPECT_GT(deep, 300U) << "the texts must nest";
}

}  // namespace
}  // namespace mrc::config
