// SPDX-License-Identifier: BSD-3-Clause
// Every key of the schema, each with a typing error and with every kind of value that it does not take: the
// answer is one line with file, line number, path, what was found, and the limit or the words that would be
// right. The keys are not listed here: a visitor finds them where the loader does.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/endpoint_config.h"
#include "config/endpoint_schema.h"

namespace mrc::config {
namespace {

struct Bad {
  std::string text;  ///< a file
  unsigned line = 0;
  std::string path;
  std::string says;  ///< some of the answer
};

/// A visitor as schema.h describes it, that writes a file a mistake.
class Mistakes {
 public:
  Mistakes(std::vector<Bad>& out, std::string path, std::string before, std::string indent, unsigned line)
      : out_(out),
        path_(std::move(path)),
        before_(std::move(before)),
        indent_(std::move(indent)),
        line_(line) {}

  template <class T>
  void integer(std::string_view key, const T& /*v*/, Range range, std::string_view doc) {
    documented(key, doc);
    const std::string limits = std::to_string(range.lo) + " to " + std::to_string(range.hi);
    for (const char* value : {"many", "\"8\"", "-1", "1.5", "0x", "010", "true", "", "[1]", "{a: 1}"})
      bad(key, value, limits);
    outside(key, range);
  }
  template <class T>
  void integer_or_auto(std::string_view key, const T& v, const bool& /*is_auto*/, Range range,
                       std::string_view doc) {
    integer(key, v, range, doc);
  }
  void integer_or_none(std::string_view key, const std::int32_t& /*v*/, Range range, std::string_view doc) {
    documented(key, doc);
    for (const char* value : {"nothing", "-1", "[1]"}) bad(key, value, std::to_string(range.hi));
    outside(key, range);
  }
  void bytes(std::string_view key, const std::uint64_t& /*v*/, Range range, std::string_view doc) {
    documented(key, doc);
    for (const char* value : {"4 K", "64KiB", "1T", "\"4K\"", "-4K", "[4K]"})
      bad(key, value, std::to_string(range.hi));
    outside(key, range);
  }
  void number(std::string_view key, const double& /*v*/, double lo, double hi, std::string_view doc) {
    documented(key, doc);
    for (const char* value : {"much", "nan", "inf", "\"1\"", "1,5", "[1]", ""})
      bad(key, value, "a number from ");
    bad(key, std::to_string(hi * 2 + 1), "is above the limit ");
    bad(key, std::to_string(lo - 1), "is below the limit ");
  }
  void number_or_zero(std::string_view key, const double& v, double lo, double hi, std::string_view doc) {
    number(key, v, lo, hi, doc);
    bad(key, "1e-300", "is below the limit ");
  }
  void micros(std::string_view key, const Duration& /*v*/, double lo, double hi, std::string_view doc) {
    number(key, 0, lo, hi, doc);
  }
  void flag(std::string_view key, const bool& /*v*/, std::string_view doc) {
    documented(key, doc);
    for (const char* value : {"maybe", "1", "0", "\"true\"", "[true]", ""}) bad(key, value, "true or false");
  }
  void text(std::string_view key, const std::string& /*v*/, const TextRule& rule, std::string_view doc) {
    documented(key, doc);
    for (const char* value : {"[a]", "{a: b}", "\"a\\x01b\""}) bad(key, value, rule.what);
    if (rule.ok != is_any_text) bad(key, "'no such thing /'", rule.what);
  }
  void texts(std::string_view key, const std::vector<std::string>& /*v*/, std::size_t max,
             const TextRule& rule, std::string_view doc) {
    documented(key, doc);
    bad(key, "alone", "a list");
    bad_item(key, "[[x]]", rule.what);
    bad(key, repeated("x", max + 1), "the limit is " + std::to_string(max));
  }
  void sizes(std::string_view key, const std::vector<std::uint64_t>& /*v*/, std::size_t max, Range range,
             std::string_view doc) {
    documented(key, doc);
    bad(key, "64", "a list");
    bad_item(key, "[64X]", std::to_string(range.hi));
    bad(key, repeated("1", max + 1), "the limit is " + std::to_string(max));
  }
  template <class E, std::size_t N>
  void choice(std::string_view key, const E& /*v*/, const Name<E> (&names)[N], std::string_view doc) {
    documented(key, doc);
    bad(key, "nonsense", "is not one of ");
    bad(key, "[" + std::string(names[0].name) + "]", "one of ");
    // A letter too many, and the right word is named.
    bad(key, std::string(names[N - 1].name) + "e", "did you mean '");
  }
  template <class S>
  void section(std::string_view key, S& v, std::string_view doc) {
    documented(key, doc);
    for (const char* value : {"7", "[1]"}) bad(key, value, "a map of 'key: value' lines");
    Mistakes inner(out_, join(key), before_ + indent_ + std::string(key) + ":\n", indent_ + "  ", line_ + 1);
    describe(inner, v);
  }
  template <class S>
  void list(std::string_view key, std::vector<S>& /*v*/, std::size_t max, std::string_view doc) {
    documented(key, doc);
    bad(key, "7", "a list");
    bad_item(key, "[7]", "expected a map");
    bad(key, repeated("{}", max + 1), "the limit is " + std::to_string(max));
    S sample{};
    Mistakes inner(out_, join(key) + "[0]", before_ + indent_ + std::string(key) + ":\n" + indent_ + "- \n",
                   indent_ + "  ", line_ + 2);
    describe(inner, sample);
  }

 private:
  static std::string repeated(const std::string& item, std::size_t n) {
    std::string all = "[" + item;
    for (std::size_t i = 1; i < n; ++i) all += "," + item;
    return all + "]";
  }
  std::string join(std::string_view key) const {
    return (path_.empty() ? "" : path_ + ".") + std::string(key);
  }
  void bad(std::string_view key, const std::string& value, std::string_view says) {
    out_.push_back(
        {before_ + indent_ + std::string(key) + ": " + value + "\n", line_, join(key), std::string(says)});
  }
  void bad_item(std::string_view key, const std::string& value, std::string_view says) {
    bad(key, value, says);
    out_.back().path += "[0]";
  }
  void outside(std::string_view key, Range range) {
    if (range.hi != ~0ULL)
      bad(key, std::to_string(range.hi + 1),
          std::to_string(range.hi + 1) + " is above the limit " + std::to_string(range.hi));
    if (range.lo > 0)
      bad(key, std::to_string(range.lo - 1),
          std::to_string(range.lo - 1) + " is below the limit " + std::to_string(range.lo));
  }
  /// Every key has its line of documentation, and is suggested to who mistypes it.
  void documented(std::string_view key, std::string_view doc) {
    EXPECT_GE(doc.size(), 4U) << join(key);
    const std::string typo = std::string(key) + "x";
    out_.push_back({before_ + indent_ + typo + ": 1\n", line_, join(typo), "unknown key; did you mean '"});
  }

  std::vector<Bad>& out_;
  std::string path_, before_, indent_;
  unsigned line_;
};

TEST(EveryKey, EveryMistakeIsAnsweredWithFileLineAndLimit) {
  std::vector<Bad> cases;
  EndpointConfig config;
  Mistakes visitor(cases, "", "", "", 1);
  describe(visitor, config);
  ASSERT_GT(cases.size(), 500U);
  for (const Bad& c : cases) {
    const Result<EndpointConfig> r = load_endpoint_text(c.text, "e.yaml");
    ASSERT_FALSE(r) << c.text;
    const std::string& message = r.error().message;
    const std::string where = "e.yaml:" + std::to_string(c.line) + ": " + c.path + ": ";
    EXPECT_TRUE(message.starts_with(where)) << c.text << message;
    EXPECT_NE(message.find(c.says), std::string::npos) << c.text << message << "\nwanted: " << c.says;
    EXPECT_EQ(message.find('\n'), std::string::npos) << "one mistake, one line: " << message;
    EXPECT_LT(message.size(), 400U) << message;
  }
}

}  // namespace
}  // namespace mrc::config
