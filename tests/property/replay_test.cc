// SPDX-License-Identifier: BSD-3-Clause
#include "replay.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>

namespace mrc::testing {
namespace {

TEST(ReplayDeathTest, AProcessThatDiesNamesItsSeed) {
  const auto die_by = [](void (*how)()) {
    replay_by("property_test --seed=", 4711);
    replay_by("property_test --seed=", 4712);
    how();
  };
  EXPECT_DEATH(die_by([] { std::abort(); }), "replay: property_test --seed=4712");
  EXPECT_DEATH(die_by([] { std::raise(SIGSEGV); }), "replay: property_test --seed=4712");
  EXPECT_DEATH(die_by([] { std::terminate(); }), "replay: property_test --seed=4712");
  // a fault that the processor finds: it must come again after the handler, else the process would go on
  EXPECT_DEATH(die_by([] {
                 const int page = ::getpagesize();
                 volatile char* no_access = static_cast<char*>(::mmap(
                     nullptr, static_cast<std::size_t>(page), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
                 *no_access = 1;
               }),
               "replay: property_test --seed=4712");
}

TEST(ReplayDeathTest, TheSignalIsStillWhatEndsTheProcess) {
  EXPECT_EXIT(
      {
        replay_by("property_test --seed=", 1);
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "replay: property_test --seed=1\n");
}

}  // namespace
}  // namespace mrc::testing
