// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mrc::endpoint {
namespace {

using nlohmann::json;

constexpr Duration kTimeout = seconds(10);

Offer sample_offer() {
  Offer o;
  o.workload = {"write_bw", 0xFFFFFFFFFFFFFFFFULL, 2, 65536, 1ULL << 40, true, true};
  o.mtu = 4096;
  o.udp_port = 4791;
  o.accept_udp_ports = {4791, 4971};
  o.attributes = {32, 8, false, true, false};
  o.addresses = {{{*IpAddress::parse("fd00::1"), *MacAddress::parse("02:00:00:00:00:01")},
                  {*IpAddress::parse("10.0.0.1"), *MacAddress::parse("02:00:00:00:00:02")}}};
  o.qps = {{3, 0xFFFFFF, 0, 0xFFFFFFFF, 0xFFFFFFFF00000000ULL, 1}, {0xFFFFFF, 0, 0, 1, 0, 0}};
  return o;
}

Progress sample_progress() {
  Progress p;
  p.index = 3;
  p.entries = {{0, 5, 1ULL << 40}, {1, 0, 0}};
  return p;
}

std::vector<Message> all_messages() {
  return {Hello{1, "run", "x 1.0"},
          sample_offer(),
          Accept{sample_offer()},
          Refuse{"because"},
          Ready{},
          PhaseStart{1, 4096, 128, 1ULL << 40, 0.5},
          PhaseReady{1},
          sample_progress(),
          PhaseDone{1, true, {5, 6}},
          PhaseReport{1, true, 10, 40960, 1, "QP 0"},
          Stop{},
          Ping{},
          Bye{},
          Abort{4, "retries"}};
}

TEST(ExchangeMessages, EncodeAndDecodeAreInverse) {
  for (const Message& m : all_messages()) {
    const std::string line = encode(m);
    ASSERT_EQ(line.back(), '\n');
    const Result<Message> back = decode(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(back) << type_of(m) << ": " << back.error().message;
    EXPECT_EQ(back->index(), m.index());
    EXPECT_EQ(encode(*back), line);
  }
}

TEST(ExchangeMessages, UnknownMembersAreIgnored) {
  EXPECT_TRUE(decode(R"({"type":"phase_ready","index":1,"later":{"a":[1]}})"));
}

// Each member of each message removed, and replaced by values of other types and out of range: an error or an
// unchanged meaning, never a crash; and the error names the member.
TEST(ExchangeMessages, EveryMemberIsChecked) {
  const std::vector<json> replacements{nullptr,       true,           -1,         1e300, "x",
                                       json::array(), json::object(), 1ULL << 63, "\n",  json::array({1})};
  std::size_t refused = 0;
  for (const Message& m : all_messages()) {
    const json good = json::parse(encode(m));
    const json flat = good.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      for (const json& r : replacements) {
        json bad = good;
        bad[json::json_pointer(pointer)] = r;
        const Result<Message> result = decode(bad.dump());
        if (!result) {
          ++refused;
          EXPECT_FALSE(result.error().message.empty());
        }
      }
    }
    for (const auto& [key, value] : good.items()) {
      json bad = good;
      bad.erase(key);
      const Result<Message> result = decode(bad.dump());
      ASSERT_FALSE(result) << type_of(m) << " without " << key;
      EXPECT_NE(result.error().message.find(key + " is missing"), std::string::npos)
          << result.error().message;
    }
  }
  EXPECT_GT(refused, 300U);
}

TEST(ExchangeMessages, RefusesWhatWouldHarm) {
  const auto error_after = [](auto change) {
    json j = json::parse(encode(sample_offer()));
    change(j);
    const Result<Message> r = decode(j.dump());
    return r ? std::string() : r.error().message;
  };
  EXPECT_EQ(error_after([](json& j) { j["qps"][0]["qpn"] = 2; }),
            "qps[0].qpn is 2, allowed are 3 to 16777215");
  EXPECT_EQ(error_after([](json& j) { j["qps"][1]["worker"] = 1; }),
            "qps[1].worker is 1, allowed are 0 to 0");
  EXPECT_EQ(error_after([](json& j) { j["mtu"] = 1500; }), "mtu is 1500, not a power of two");
  EXPECT_EQ(error_after([](json& j) { j["attributes"]["MAX_MPR_DEST"] = 0; }),
            "attributes.MAX_MPR_DEST is 0, allowed are 1 to 255");
  EXPECT_EQ(error_after([](json& j) { j["attributes"]["MAX_WIMM_DEST"] = 31; }),
            "attributes.MAX_WIMM_DEST is 31, allowed are 32 to 65535");
  EXPECT_NE(error_after([](json& j) { j["addresses"][0][0]["mac"] = "00:00:00:00:00:00"; }), "");
  EXPECT_NE(error_after([](json& j) { j["addresses"][0][0]["ip"] = "::"; }), "");
  EXPECT_NE(error_after([](json& j) { j["addresses"] = json::array(); }), "");
  EXPECT_NE(error_after([](json& j) { j["addresses"].push_back(json::array({j["addresses"][0][0]})); }), "");
  EXPECT_NE(error_after([](json& j) { j["qps"] = json::array(); }), "");
  EXPECT_NE(error_after([](json& j) { j["qps"][0]["target_bytes"] = "18446744073709551615"; }), "")
      << "wraps";
  EXPECT_NE(error_after([](json& j) { j["workload"]["seed"] = 5; }), "") << "64 bits travel as text";
  EXPECT_EQ(error_after([](json& j) { j["qps"][1]["qpn"] = j["qps"][0]["qpn"]; }),
            "qps[1].qpn is 3, as another QP's");
  for (const char* ip : {"::", "::1", "ff02::1", "::ffff:10.0.0.1", "0.0.0.0", "0.1.2.3", "127.0.0.1",
                         "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"}) {
    const std::string said = error_after([&](json& j) { j["addresses"][0][0]["ip"] = ip; });
    EXPECT_NE(said.find(std::string("addresses[][].ip is ") + ip), std::string::npos) << ip << ": " << said;
  }
}

TEST(ExchangeMessages, RefusesGarbageAndDepth) {
  for (const std::string& line :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("{}"),
        std::string(R"({"type":7})"), std::string(R"({"type":"nope"})"), std::string(100000, '['),
        "{\"type\":" + std::string(50, '['),
        // Brackets in text pay for none outside of it.
        "{\"type\":\"hello\",\"x\":\"" + std::string(400000, ']') +
            "\",\"version\":" + std::string(400000, '[') + std::string(400000, ']') + "}"}) {
    EXPECT_FALSE(decode(line)) << line.substr(0, 40);
  }
}

TEST(ExchangeMessages, ThePeersWordsCannotDriveOurTerminal) {
  const Result<Message> r = decode(R"({"type":"refuse","reason":"a\u001b[2Jb\nc"})");
  ASSERT_TRUE(r);
  EXPECT_EQ(std::get<Refuse>(*r).reason, "a\\x1b[2Jb\\nc");
  EXPECT_EQ(decode("\x9b[2J\n").error().message, "not JSON from byte 1 on: '\\x9b[2J\\n'");
}

/// Two ends joined without a network.
struct Ends {
  Time now = Time{1};
  Exchange run{ExchangeRole::kRun, "run", kTimeout, now};
  Exchange serve{ExchangeRole::kServe, "serve", kTimeout, now};

  void deliver() {
    while (run.has_output() || serve.has_output()) {
      const std::string a = run.take_output();
      const std::string b = serve.take_output();
      serve.on_bytes(a, now);
      run.on_bytes(b, now);
    }
  }
  void to_running() {
    deliver();
    run.send(sample_offer());
    deliver();
    serve.next();
    serve.send(Accept{sample_offer()});
    deliver();
    run.next();
    run.send(Ready{});
    serve.send(Ready{});
    deliver();
    run.next();
    serve.next();
  }
};

TEST(Exchange, WholeConversation) {
  Ends e;
  e.to_running();
  ASSERT_EQ(e.run.state(), Exchange::State::kRunning);
  ASSERT_EQ(e.serve.state(), Exchange::State::kRunning);
  EXPECT_EQ(e.serve.peer().software, "run");
  e.run.send(PhaseStart{0, 64, 8, 10, 0});
  e.deliver();
  const auto m = e.serve.next();
  ASSERT_TRUE(m);
  EXPECT_EQ(std::get<PhaseStart>(*m).slots, 8U);
  e.run.send(Bye{});
  e.deliver();
  EXPECT_FALSE(e.run.over());
  e.serve.send(Bye{});
  e.deliver();
  EXPECT_EQ(e.run.state(), Exchange::State::kClosed);
  EXPECT_EQ(e.serve.state(), Exchange::State::kClosed);
  EXPECT_FALSE(e.run.failure());
  e.run.on_disconnect("it closed the connection");
  EXPECT_FALSE(e.run.failure());
}

TEST(Exchange, BytesMayComeOneAtATime) {
  Ends e;
  for (const char c : e.run.take_output()) e.serve.on_bytes(std::string_view(&c, 1), e.now);
  EXPECT_EQ(e.serve.state(), Exchange::State::kOffer);
}

TEST(Exchange, RefusalReachesBothEnds) {
  Ends e;
  e.deliver();
  e.run.send(sample_offer());
  e.deliver();
  e.serve.refuse("mtu 4096 here, 1024 there");
  e.deliver();
  ASSERT_TRUE(e.run.failure());
  EXPECT_EQ(e.run.failure()->message, "the peer refused: mtu 4096 here, 1024 there");
  EXPECT_EQ(e.run.failure()->code, ExitCode::kPeer);
  EXPECT_EQ(e.serve.failure()->message, "refused the peer: mtu 4096 here, 1024 there");
}

TEST(Exchange, OtherVersionsAndEqualRolesAreRefusedOnBothSides) {
  Exchange serve(ExchangeRole::kServe, "s", kTimeout, Time{1});
  serve.on_bytes(
      "{\"type\":\"hello\",\"protocol\":\"softmrc.exchange\",\"version\":9,\"role\":\"run\",\"software\":"
      "\"x\"}\n",
      Time{2});
  ASSERT_TRUE(serve.failure());
  EXPECT_NE(serve.failure()->message.find("version 1 here, 9 there"), std::string::npos);
  EXPECT_NE(serve.take_output().find("\"refuse\""), std::string::npos);

  Exchange a(ExchangeRole::kRun, "a", kTimeout, Time{1});
  Exchange b(ExchangeRole::kRun, "b", kTimeout, Time{1});
  a.on_bytes(b.take_output(), Time{2});
  ASSERT_TRUE(a.failure());
  EXPECT_NE(a.failure()->message.find("both ends are 'run'"), std::string::npos);
}

TEST(Exchange, AForeignProtocolIsRefused) {
  for (const char* text : {"GET / HTTP/1.1\r\n", "SSH-2.0-OpenSSH_9\r\n", "\n", "{\"type\":\"offer\"}\n"}) {
    Exchange serve(ExchangeRole::kServe, "s", kTimeout, Time{1});
    serve.on_bytes(text, Time{2});
    ASSERT_TRUE(serve.failure()) << text;
    EXPECT_EQ(serve.failure()->code, ExitCode::kPeer);
    EXPECT_NE(serve.take_output().find("\"abort\""), std::string::npos);
  }
}

TEST(Exchange, MessagesOutOfOrderEndIt) {
  Ends e;
  e.deliver();
  e.serve.on_bytes(encode(PhaseStart{0, 64, 8, 10, 0}), e.now);
  ASSERT_TRUE(e.serve.failure());
  EXPECT_EQ(e.serve.failure()->message, "the peer sent 'phase' while negotiating");
  Ends f;
  f.to_running();
  f.run.on_bytes(encode(PhaseStart{0, 64, 8, 10, 0}), f.now);
  EXPECT_TRUE(f.run.failure()) << "only run starts phases";
}

// The session makes its QPs at the one, and connects them at the other.
TEST(Exchange, AnOfferComesOnceAndAnAcceptAfterIt) {
  Ends e;
  e.deliver();
  e.serve.on_bytes(encode(sample_offer()) + encode(sample_offer()), e.now);
  ASSERT_TRUE(e.serve.failure());
  EXPECT_EQ(e.serve.failure()->message, "the peer sent 'offer' while negotiating");
  Ends f;
  f.deliver();
  f.run.on_bytes(encode(Accept{sample_offer()}), f.now);
  ASSERT_TRUE(f.run.failure());
  EXPECT_EQ(f.run.failure()->message, "the peer sent 'accept' while negotiating");
}

TEST(Exchange, AnEndlessLineIsBounded) {
  Exchange serve(ExchangeRole::kServe, "s", kTimeout, Time{1});
  const std::string chunk(65536, 'x');
  for (std::size_t sent = 0; sent <= kMaxLineBytes && !serve.over(); sent += chunk.size()) {
    serve.on_bytes(chunk, Time{2});
  }
  ASSERT_TRUE(serve.failure());
  EXPECT_NE(serve.failure()->message.find("line of more than"), std::string::npos);
}

TEST(Exchange, AFloodIsBounded) {
  Ends e;
  e.to_running();
  std::string flood;
  for (int i = 0; i < 5000; ++i) flood += encode(Stop{});
  e.serve.on_bytes(flood, e.now);
  EXPECT_TRUE(e.serve.failure());
}

TEST(Exchange, SilenceEndsItAndPingsPreventThat) {
  Ends e;
  e.to_running();
  for (int i = 0; i < 100; ++i) {
    e.now = e.now + seconds(1);
    e.run.on_time(e.now);
    e.serve.on_time(e.now);
    e.deliver();
  }
  EXPECT_FALSE(e.run.over());
  EXPECT_FALSE(e.serve.over());
  e.now = e.now + seconds(11);
  e.run.on_time(e.now);
  ASSERT_TRUE(e.run.failure());
  EXPECT_EQ(e.run.failure()->message, "the peer has been silent for 10.0 s (while running)");
  EXPECT_EQ(e.run.failure()->code, ExitCode::kPeer);
  EXPECT_LE(e.serve.deadline(), e.now);
}

// Pings alone do not get a peer anywhere.
TEST(Exchange, EachStateBeforeTheRunHasADeadline) {
  const auto wait = [](Ends& e, int seconds_each, int times) {
    for (int i = 0; i < times && !e.serve.over(); ++i) {
      e.now = e.now + seconds(seconds_each);
      e.serve.on_time(e.now);
      e.serve.on_bytes(encode(Ping{}), e.now);
    }
  };
  Ends e;
  e.deliver();
  wait(e, 5, 23);
  EXPECT_FALSE(e.serve.over()) << "starting DPDK may take a while";
  wait(e, 5, 3);
  ASSERT_TRUE(e.serve.failure());
  EXPECT_EQ(e.serve.failure()->message, "the peer has not got further than 'negotiating' within 120.0 s");
  Ends f;
  f.deliver();
  f.run.send(sample_offer());
  f.deliver();
  f.serve.next();
  f.serve.send(Accept{sample_offer()});
  wait(f, 5, 26);
  ASSERT_TRUE(f.serve.failure());
  EXPECT_EQ(f.serve.failure()->message, "the peer has not got further than 'setting up' within 120.0 s");
  Ends g;
  g.to_running();
  wait(g, 5, 100);
  EXPECT_FALSE(g.serve.over()) << "how long a run may take is the session's business";
}

// The other end may have been told a shorter timeout than ours.
TEST(Exchange, PingsDoNotDependOnOurTimeout) {
  Exchange patient(ExchangeRole::kRun, "r", seconds(3600), Time{1});
  patient.take_output();
  patient.on_time(Time{1} + milliseconds(251));
  EXPECT_EQ(patient.take_output(), encode(Ping{}));
}

TEST(Exchange, AReasonThatIsTooLongArrivesAllTheSame) {
  Ends e;
  e.deliver();
  e.serve.abort(ExitCode::kPeer, std::string(3 * kMaxTextBytes, 'x'));
  e.deliver();
  EXPECT_EQ(e.run.failure()->message, "the peer gave up: " + std::string(kMaxTextBytes, 'x'));
}

TEST(Exchange, DisconnectTellsWhenItHappened) {
  Ends e;
  e.to_running();
  e.run.on_disconnect("Connection reset by peer");
  EXPECT_EQ(e.run.failure()->message, "the peer is gone: Connection reset by peer (while running)");
}

TEST(Exchange, AbortCarriesTheExitCodeAcross) {
  Ends e;
  e.to_running();
  e.serve.abort(ExitCode::kTransport, "retry budget exhausted");
  e.deliver();
  ASSERT_TRUE(e.run.failure());
  EXPECT_EQ(e.run.failure()->code, ExitCode::kTransport);
  EXPECT_EQ(e.run.failure()->message, "the peer gave up: retry budget exhausted");
  Ends f;
  f.to_running();
  f.run.on_bytes(encode(Abort{0, "all is well"}), f.now);
  EXPECT_EQ(f.run.failure()->code, ExitCode::kPeer) << "an abort is never a pass";
}

}  // namespace
}  // namespace mrc::endpoint
