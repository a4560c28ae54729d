// SPDX-License-Identifier: BSD-3-Clause
#include "config/json_text.h"

#include <gtest/gtest.h>

namespace mrc::config {
namespace {

using Json = nlohmann::json;

std::string error_of(const std::string& text) {
  const auto j = parse_json<Json>(text);
  return j ? "" : j.error().message;
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

TEST(JsonText, TakesWhatIsJson) {
  const auto j = parse_json<nlohmann::ordered_json>(R"({"b": [1, {"x": 2}], "a": {"x": null}})");
  ASSERT_TRUE(j) << j.error().message;
  EXPECT_EQ(j->dump(), R"({"b":[1,{"x":2}],"a":{"x":null}})");
}

TEST(JsonText, SaysFromWhereOnItIsNone) {
  EXPECT_EQ(error_of("{\"a\": ]\x1b[31m"), "not JSON from byte 7 on: '{\"a\": ]\\x1b[31m'");
  EXPECT_EQ(error_of(std::string(1000, 'x')), "not JSON from byte 1 on: '" + std::string(60, 'x') + "..'");
  EXPECT_NE(error_of("\xff\xfe"), "");
  EXPECT_NE(error_of(""), "");
}

// Values that deep would end in a recursion without end when they are printed or freed.
TEST(JsonText, DepthHasALimit) {
  EXPECT_EQ(error_of(nested(kMaxJsonDepth)), "");
  for (const std::size_t depth : {std::size_t{kMaxJsonDepth} + 2, std::size_t{32000}, std::size_t{520000}}) {
    EXPECT_EQ(error_of(nested(depth)), "brackets nested more than 16 deep") << depth;
    EXPECT_EQ(error_of("{\"schema\": " + nested(depth)), "brackets nested more than 16 deep") << depth;
  }
}

TEST(JsonText, AKeyTwiceIsRefused) {
  EXPECT_EQ(error_of(R"({"a": 1, "b": {"a": 2}, "a": 3})"), "key \"a\" stands twice: keep one of them");
  EXPECT_EQ(error_of(R"([{"a": 1}, {"a": 1}])"), "");
}

}  // namespace
}  // namespace mrc::config
