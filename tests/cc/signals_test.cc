// SPDX-License-Identifier: BSD-3-Clause
#include "cc/signals.h"

#include <gtest/gtest.h>

namespace mrc::cc {
namespace {

TEST(Signals, V21_RttValidity) {
  EXPECT_TRUE(rtt_sample_valid(0, false));
  EXPECT_FALSE(rtt_sample_valid(0, true));
  EXPECT_FALSE(rtt_sample_valid(1, false));
  EXPECT_TRUE(rtt_sample_valid(1, true));
  EXPECT_FALSE(rtt_sample_valid(2, false));
  EXPECT_FALSE(rtt_sample_valid(2, true));
}

TEST(Signals, V24_Timestamp) {
  EXPECT_EQ(rtt_from_ticks(Tick{0x0010}, Tick{0xFFF0}), nanoseconds(4096));
  EXPECT_EQ(rtt_from_ticks(Tick{7}, Tick{7}), nanoseconds(0));
  EXPECT_EQ(rtt_from_ticks(Tick{0xFFFF}, Tick{0}), nanoseconds(65535 * 128));
}

TEST(Signals, ReceivedBytesAreSerial) {  // 6.3
  RcvdUnits newest{0xFFFFFE};
  EXPECT_EQ(newly_received_bytes(newest, RcvdUnits{1}), 3 * 256);
  EXPECT_EQ(newest, RcvdUnits{1});
  EXPECT_EQ(newly_received_bytes(newest, RcvdUnits{1}), 0) << "the same again";
  EXPECT_EQ(newly_received_bytes(newest, RcvdUnits{0xFFFFFF}), 0) << "older";
  EXPECT_EQ(newest, RcvdUnits{1});
  EXPECT_EQ(newly_received_bytes(newest, RcvdUnits{1 + 0x7FFFFF}), std::int64_t{0x7FFFFF} * 256);
}

}  // namespace
}  // namespace mrc::cc
