// SPDX-License-Identifier: BSD-3-Clause
#include "oob_socket.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>

namespace mrc::endpoint {
namespace {

struct Connected {
  OobSocket a;
  OobSocket b;
};

Connected connect_pair(const std::string& address) {
  Result<OobListener> listener = OobListener::listen(address, 0);
  EXPECT_TRUE(listener) << listener.error().message;
  Result<OobSocket> a = OobSocket::connect(address, listener->port(), seconds(5));
  EXPECT_TRUE(a) << a.error().message;
  OobSocket b = listener->accept(seconds(5));
  EXPECT_TRUE(b.open());
  return {*std::move(a), std::move(b)};
}

/// Waits for data or end, then receives.
bool receive(OobSocket& s, std::string& into) {
  pollfd p{s.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&p, 1, 5000), 1);
  return s.receive(into);
}

TEST(OobSocket, CarriesBytesBothWays) {
  Connected c = connect_pair("127.0.0.1");
  ASSERT_TRUE(c.a.send("hello\n"));
  std::string got;
  ASSERT_TRUE(receive(c.b, got));
  EXPECT_EQ(got, "hello\n");
  got.clear();
  EXPECT_TRUE(c.a.receive(got)) << "nothing there is no error";
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(c.a.peer_name().rfind("127.0.0.1:", 0), 0U);
}

TEST(OobSocket, ALargeMessageIsQueuedAndFlushed) {
  Connected c = connect_pair("127.0.0.1");
  const std::string big(8U << 20, 'x');
  ASSERT_TRUE(c.a.send(big));
  std::string got;
  while (got.size() < big.size()) {
    ASSERT_TRUE(receive(c.b, got));
    ASSERT_TRUE(c.a.send(""));
  }
  EXPECT_EQ(got, big);
}

TEST(OobSocket, APeerThatDoesNotReadEndsTheConnectionNotOurMemory) {
  Connected c = connect_pair("127.0.0.1");
  const std::string some(1U << 20, 'x');
  int sent = 0;
  while (sent < 1000 && c.a.send(some)) ++sent;
  EXPECT_LT(sent, 100) << "what the kernel holds and 8 MiB";
  EXPECT_EQ(c.a.error(), "it does not read what we send");
}

TEST(OobSocket, AClosedPeerIsNoticed) {
  Connected c = connect_pair("127.0.0.1");
  c.b = OobSocket();
  std::string got;
  EXPECT_FALSE(receive(c.a, got));
  EXPECT_EQ(c.a.error(), "it closed the connection");
}

TEST(OobSocket, NobodyThereIsSaidWithTheRemedy) {
  std::uint16_t port = 0;
  {
    Result<OobListener> listener = OobListener::listen("127.0.0.1", 0);
    ASSERT_TRUE(listener);
    port = listener->port();
  }
  const Result<OobSocket> s = OobSocket::connect("127.0.0.1", port, milliseconds(120));
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().message.find("Connection refused"), std::string::npos) << s.error().message;
  EXPECT_NE(s.error().message.find("serve ..."), std::string::npos);
}

TEST(OobSocket, AnAddressOfAnotherMachineIsNotThePortsFault) {
  const Result<OobListener> l = OobListener::listen("192.0.2.9", 0);  // for documentation: nobody's
  ASSERT_FALSE(l);
  EXPECT_NE(l.error().message.find("no address of this machine"), std::string::npos) << l.error().message;
  EXPECT_EQ(l.error().message.find("--port"), std::string::npos);
}

TEST(OobSocket, AddressesAreNumericAndPortsExclusive) {
  EXPECT_FALSE(OobSocket::connect("localhost", 1, milliseconds(1)));
  Result<OobListener> first = OobListener::listen("127.0.0.1", 0);
  ASSERT_TRUE(first);
  const Result<OobListener> second = OobListener::listen("127.0.0.1", first->port());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("--port"), std::string::npos) << second.error().message;
  EXPECT_FALSE(first->accept(milliseconds(1)).open());
}

}  // namespace
}  // namespace mrc::endpoint
