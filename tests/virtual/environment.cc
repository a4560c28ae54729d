// SPDX-License-Identifier: BSD-3-Clause
// EAL starts once a process: all tests share it.
#include <gtest/gtest.h>

#include <optional>

#include "ethdev/eal.h"

namespace mrc::virt {
namespace {

class Environment : public ::testing::Environment {
 public:
  void SetUp() override {
    auto started = ethdev::Eal::init(ethdev::EalConfig::for_tests(1));
    if (!started) FAIL() << started.error().message;
    eal_.emplace(*std::move(started));
  }
  void TearDown() override { eal_.reset(); }

 private:
  std::optional<ethdev::Eal> eal_;
};

const auto* const environment = ::testing::AddGlobalTestEnvironment(new Environment);

}  // namespace
}  // namespace mrc::virt
