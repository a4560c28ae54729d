// SPDX-License-Identifier: BSD-3-Clause
#include "doorman.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace mrc::endpoint {
namespace {

/// A listening end whose clock the test moves.
struct House {
  House()
      : door(*OobListener::listen("127.0.0.1", 0), "test", seconds(2),
             [this](const std::string& l) { log += l + "\n"; }) {}

  OobSocket visitor() { return *OobSocket::connect("127.0.0.1", door.port(), seconds(5)); }
  /// Steps until a guest is there or `n` steps are over.
  std::optional<Guest> wait(int n) {
    std::optional<Guest> guest;
    for (int i = 0; i < n && !guest; ++i) guest = door.step(now);
    return guest;
  }
  void wait_for_strangers(std::uint64_t n) {
    for (int i = 0; i < 2000 && door.strangers() < n; ++i) ASSERT_FALSE(door.step(now));
    ASSERT_EQ(door.strangers(), n);
  }

  Time now{1};
  std::string log;
  Doorman door;
};

TEST(Doorman, StrangersAreSentAwayAndAPeerComesIn) {
  House house;
  OobSocket scan = house.visitor();
  scan = OobSocket();  // closed at once
  OobSocket browser = house.visitor();
  browser.send("GET / HTTP/1.1\r\nHost: \x1b[31m\r\n\r\n");
  OobSocket old_release = house.visitor();
  old_release.send(R"({"type":"hello","protocol":"softmrc.exchange","version":9,"role":"run","software":"x"})"
                   "\n");
  house.wait_for_strangers(3);
  EXPECT_NE(house.log.find("not JSON"), std::string::npos) << house.log;
  EXPECT_NE(house.log.find("exchange version 1 here, 9 there"), std::string::npos) << house.log;
  EXPECT_EQ(house.log.find('\x1b'), std::string::npos);

  OobSocket silent = house.visitor();
  OobSocket peer = house.visitor();
  peer.send(Exchange::greeting(ExchangeRole::kRun, "peer"));
  std::optional<Guest> guest = house.wait(2000);
  ASSERT_TRUE(guest) << "one that says nothing keeps nobody waiting";
  EXPECT_EQ(guest->exchange->state(), Exchange::State::kOffer);
  EXPECT_EQ(guest->exchange->peer().software, "peer");
  EXPECT_EQ(house.door.strangers(), 4U);
}

TEST(Doorman, SilenceAndADripOfBytesHaveAnEnd) {
  House house;
  OobSocket silent = house.visitor();
  OobSocket drip = house.visitor();
  for (int i = 0; i < 6; ++i) {
    drip.send("x");
    EXPECT_FALSE(house.wait(20));
    house.now = house.now + milliseconds(500);
  }
  house.wait_for_strangers(2);
  EXPECT_NE(house.log.find("silent for 2.0 s"), std::string::npos) << house.log;
  EXPECT_NE(house.log.find("not got further than 'greeting' within 2.0 s"), std::string::npos) << house.log;
}

TEST(Doorman, ACrowdIsBounded) {
  House house;
  std::vector<OobSocket> crowd;
  for (std::size_t i = 0; i < Doorman::kMaxWaiting + 3; ++i) {
    crowd.push_back(house.visitor());
    EXPECT_FALSE(house.wait(1));
  }
  EXPECT_FALSE(house.wait(50));
  EXPECT_EQ(house.door.strangers(), 3U);
}

}  // namespace
}  // namespace mrc::endpoint
