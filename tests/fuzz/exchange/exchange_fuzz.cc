// SPDX-License-Identifier: BSD-3-Clause
// Fuzz target of the out-of-band exchange: what a peer may write into our TCP connection. Byte 0: bit 0 our
// role, bits 7-1 how many bytes come at a time (0: all). A small session answers, so that later states are
// reached. What is accepted must come out of encode() and decode() as it went in, and a failure must say why.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "mrc-endpoint/exchange.h"

namespace {

using namespace mrc::endpoint;
using State = Exchange::State;

void require(bool ok) {
  if (!ok) std::abort();
}

std::string without_newline(std::string line) {
  require(!line.empty() && line.back() == '\n');
  line.pop_back();
  require(line.find('\n') == std::string::npos);
  return line;
}

void check_round_trip(const Message& m) {
  const std::string line = without_newline(encode(m));
  const auto again = decode(line);
  require(again && again->index() == m.index());
  require(without_newline(encode(*again)) == line);
}

Offer our_offer() {
  Offer o;
  o.workload = {"write_bw", 1, 1, 4096, 4096, false, true};
  o.mtu = 4096;
  o.udp_port = 4791;
  o.accept_udp_ports = {4791};
  o.addresses = {{{*mrc::IpAddress::parse("10.0.0.1"), *mrc::MacAddress::parse("02:00:00:00:00:01")}}};
  o.qps = {{64, 0, 0, 1, 4096, 4096}};
  return o;
}

/// Goes on with whatever the conversation allows.
class Session {
 public:
  explicit Session(Exchange& exchange, bool run) : exchange_(exchange), run_(run) {}

  void act() {
    if (run_ && !offered_ && exchange_.state() == State::kOffer) {
      exchange_.send(our_offer());
      offered_ = true;
    }
    while (const auto m = exchange_.next()) {
      check_round_trip(*m);
      answer(*m);
    }
  }

 private:
  void answer(const Message& m) {
    if (std::holds_alternative<Offer>(m) && exchange_.state() == State::kOffer)
      exchange_.send(Accept{our_offer()});
    if (exchange_.state() == State::kSettingUp && !ready_) {
      exchange_.send(Ready{});
      ready_ = true;
    }
    if (exchange_.state() != State::kRunning) return;
    if (!run_ && std::holds_alternative<PhaseStart>(m)) exchange_.send(PhaseReady{});
    if (run_ && std::holds_alternative<Ready>(m)) exchange_.send(PhaseStart{0, 4096, 1, 1, 0});
    if (std::holds_alternative<Bye>(m)) exchange_.send(Bye{});
  }

  Exchange& exchange_;
  const bool run_;
  bool offered_ = false;
  bool ready_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool run = (data[0] & 1) != 0;
  const std::size_t piece = data[0] >> 1 == 0 ? size : data[0] >> 1;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  mrc::Time now{1};
  Exchange exchange(run ? ExchangeRole::kRun : ExchangeRole::kServe, "fuzz", mrc::seconds(1), now);
  Session session(exchange, run);
  while (!bytes.empty() && !exchange.over()) {
    now = now + mrc::milliseconds(1);
    exchange.on_bytes(bytes.substr(0, piece), now);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    session.act();
  }
  exchange.on_disconnect("closed");
  require(exchange.over());
  require(exchange.state() == State::kClosed || !exchange.failure()->message.empty());
  std::string out = exchange.take_output();
  require(!out.empty() && out.back() == '\n');
  return 0;
}
