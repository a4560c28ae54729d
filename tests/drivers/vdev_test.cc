// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/vdev.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace mrc::ethdev {
namespace {

namespace fs = std::filesystem;

template <class T>
std::string failure(const Result<T>& result) {
  return result ? "" : result.error().message;
}

TEST(Vdev, VhostPairNamesBothEnds) {
  EXPECT_EQ(*vhost_vdev({.index = 3, .socket_path = "/run/s", .queues = 2}),
            "net_vhost3,iface=/run/s,queues=2,client=0");
  EXPECT_EQ(*vhost_vdev({.role = Role::kClient, .socket_path = "/run/s"}),
            "net_virtio_user0,path=/run/s,queues=1,queue_size=1024");
}

TEST(Vdev, LimitsAreNamed) {
  EXPECT_NE(failure(vhost_vdev({.socket_path = std::string(108, 'a')})).find("107"), std::string::npos);
  EXPECT_NE(failure(vhost_vdev({.socket_path = "/a,b"})).find("commas"), std::string::npos);
  EXPECT_NE(failure(vhost_vdev({.socket_path = "/a", .queues = 9})).find("9 is outside 1..8"),
            std::string::npos);
  EXPECT_NE(failure(vhost_vdev({.socket_path = "/a", .queue_size = 100})).find("power of two"),
            std::string::npos);
  EXPECT_NE(failure(memif_vdev({.socket_path = "/a", .ring_log2 = 15})).find("1..14"), std::string::npos);
  EXPECT_NE(failure(af_packet_vdev({.iface = "sixteen-letters!"})).find("outside 1..15"), std::string::npos);
  EXPECT_NE(failure(af_packet_vdev({.iface = ""})).find("empty"), std::string::npos);
  EXPECT_NE(failure(af_xdp_vdev({.iface = "v0", .mtu_bytes = 4096})).find("2048"), std::string::npos);
  EXPECT_NE(failure(pcap_vdev({})).find("neither"), std::string::npos);
  EXPECT_NE(failure(pcap_vdev({.rx_path = "/nonexistent.pcap"})).find("does not exist"), std::string::npos);
  EXPECT_NE(failure(null_vdev(0, 10, true)).find("60.."), std::string::npos);
}

TEST(Vdev, AfPacketFramesHoldTheWholePacketAndFillWholePages) {
  for (const std::uint32_t mtu : {256U, 1500U, 4200U, 9000U, 9216U, 60000U}) {
    const std::string vdev = *af_packet_vdev({.iface = "v0", .mtu_bytes = mtu});
    const auto number = [&](const char* key) {
      return std::stoul(vdev.substr(vdev.find(key) + std::strlen(key)));
    };
    EXPECT_GE(number("framesz="), mtu + 22 + 80) << vdev;
    EXPECT_EQ(number("framesz=") % 16, 0U) << vdev;
    EXPECT_EQ(number("blocksz=") % 4096, 0U) << vdev;
    EXPECT_EQ(number("blocksz=") % number("framesz="), 0U) << vdev;
  }
}

class SocketFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/ethdev-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    dir_ = name;
  }
  void TearDown() override { fs::remove_all(dir_); }

  int listen_on(const std::string& path, int type) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int fd = socket(AF_UNIX, type, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
  }
  fs::path dir_;
};

TEST_F(SocketFiles, AListenerIsLeftAloneAndFoundByItsClient) {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const std::string path = dir_ / ("s" + std::to_string(type));
    EXPECT_NE(failure(check_client_socket(path)).find("start the server side first"), std::string::npos);
    const int fd = listen_on(path, type);
    EXPECT_NE(failure(prepare_server_socket(path)).find("another process listens"), std::string::npos);
    EXPECT_TRUE(check_client_socket(path));
    close(fd);
    // The file is still there, as after a kill.
    EXPECT_NE(failure(check_client_socket(path)).find("nobody listens"), std::string::npos);
    EXPECT_TRUE(prepare_server_socket(path));
    EXPECT_FALSE(fs::exists(path));
  }
}

TEST_F(SocketFiles, OtherFilesAreNotTouched) {
  const std::string path = dir_ / "file";
  std::ofstream(path) << "precious";
  EXPECT_NE(failure(prepare_server_socket(path)).find("not a socket"), std::string::npos);
  EXPECT_TRUE(fs::exists(path));
  EXPECT_NE(failure(prepare_server_socket(dir_ / "no" / "s")).find("mkdir -p"), std::string::npos);
}

TEST_F(SocketFiles, EachDeviceIsPreparedByItsRole) {
  const std::string path = dir_ / "s";
  EXPECT_TRUE(prepare_vdev(*vhost_vdev({.socket_path = path})));
  EXPECT_FALSE(prepare_vdev(*vhost_vdev({.role = Role::kClient, .socket_path = path})));
  EXPECT_TRUE(prepare_vdev(*memif_vdev({.role = Role::kClient, .socket_path = path})))
      << "a memif client may start first";
  const int fd = listen_on(path, SOCK_SEQPACKET);
  EXPECT_FALSE(prepare_vdev(*memif_vdev({.socket_path = path})));
  close(fd);
  EXPECT_TRUE(prepare_vdev(*memif_vdev({.socket_path = path})));
  EXPECT_TRUE(prepare_vdev("net_ring0"));
}

}  // namespace
}  // namespace mrc::ethdev
