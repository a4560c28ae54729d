// SPDX-License-Identifier: BSD-3-Clause
#include "base/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "base/rng.h"

namespace mrc {
namespace {

TEST(Printable, LeavesVisibleTextAlone) {
  for (const std::string text : {"", "plain ~ text", "Grüße, 世界 🙂", "\xC2\xA0\xE2\x82\xAC"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, EscapesWhatSteersATerminal) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m\x07"), "\\x1b[31mred\\x1b[0m\\x07");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m\x7F"),
            "\\u009b31m\\x7f")
      << "C1 in UTF-8, delete";
  EXPECT_EQ(printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(printable_lines("a\nb\rc"), "a\nb\\rc");
  EXPECT_EQ(printable("\xE2\x80\xAE"
                      "evil\xE2\x80\xA8"),
            "\\u202eevil\\u2028")
      << "right-to-left override, line separator";
  EXPECT_EQ(printable("\xEF\xBB\xBF\xF3\xA0\x80\x81"), "\\ufeff\\U000e0001");
  EXPECT_EQ(printable(std::string("\0x", 2)), "\\x00x");
}

TEST(Printable, EscapesBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("\x9B"
                      "31m"),
            "\\x9b31m")
      << "C1 as a byte";
  EXPECT_EQ(printable("\xC0\x8A\xE0\x80\x8A\xED\xA0\x80\xF4\x90\x80\x80"),
            "\\xc0\\x8a\\xe0\\x80\\x8a\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80")
      << "overlong, surrogate, too large";
  EXPECT_EQ(printable("\xE2\x82"), "\\xe2\\x82") << "cut short";
}

TEST(Printable, AnExcerptSaysThatMoreCame) {
  EXPECT_EQ(printable_excerpt("four", 4), "four");
  EXPECT_EQ(printable_excerpt("\x1b[31m", 2), "\\x1b[..");
}

// Whatever goes in: what comes out is UTF-8 without any control, and is its own fixed point.
TEST(Printable, NothingHiddenComesOut) {
  Rng rng(9);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint64_t n = rng.below(12); n > 0; --n) text += static_cast<char>(rng.below(256));
    const std::string out = printable(text);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const auto c = static_cast<unsigned char>(out[k]);
      ASSERT_TRUE(c >= 0x20 && c != 0x7F) << i;
      ASSERT_FALSE(c == 0xC2 && static_cast<unsigned char>(out[k + 1]) < 0xA0) << i;
    }
    ASSERT_EQ(printable(out), out);
  }
}

}  // namespace
}  // namespace mrc
