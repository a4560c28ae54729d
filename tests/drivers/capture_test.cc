// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/capture.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace mrc::ethdev {
namespace {

TEST(OutputCapture, KeepsWhatIsPrintedMeanwhile) {
  OutputCapture capture;
  std::printf("to stdout\n");
  std::fprintf(stderr, "to stderr\n");
  const std::string out = capture.stop();
  EXPECT_NE(out.find("to stdout"), std::string::npos);
  EXPECT_NE(out.find("to stderr"), std::string::npos);
  EXPECT_EQ(capture.stop(), "");
}

// A library that ends the process takes its reason with it otherwise.
TEST(OutputCaptureDeath, ToldWhenTheProcessExitsMeanwhile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave = [] {
    auto* capture = new OutputCapture;
    std::printf("the reason\n");
    static_cast<void>(capture);
    std::exit(3);
  };
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(3), "the reason");
}

TEST(OutputCaptureDeath, ToldWhenTheProcessAbortsMeanwhile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave = [] {
    auto* capture = new OutputCapture;
    std::fprintf(stderr, "the reason\n");
    static_cast<void>(capture);
    std::abort();
  };
  EXPECT_EXIT(leave(), ::testing::KilledBySignal(SIGABRT), "the reason");
}

}  // namespace
}  // namespace mrc::ethdev
