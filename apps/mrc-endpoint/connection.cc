// SPDX-License-Identifier: BSD-3-Clause
#include "connection.h"

#include <fmt/format.h>

#include <cstdio>

#include "doorman.h"
#include "report/say.h"
#include "setup_watch.h"

namespace mrc::endpoint {
namespace {

constexpr Duration kSocketInterval = microseconds(20);
constexpr Duration kFlushTimeout = seconds(2);

Duration peer_timeout(const config::EndpointConfig& c) {
  return nanoseconds(static_cast<std::int64_t>(c.oob.peer_timeout_s * 1e9));
}

}  // namespace

std::string software() {
  return "softmrc " SOFTMRC_VERSION;
}

std::optional<Failure> Connection::open(const std::function<Time()>& clock) {
  warn_of_reach();
  return options_.command == Command::kRun ? connect() : wait_for_peer(clock);
}

std::optional<Failure> Connection::connect() {
  const config::OobConfig& oob = options_.config.oob;
  Result<OobSocket> s = OobSocket::connect(
      oob.address, oob.port, nanoseconds(static_cast<std::int64_t>(oob.connect_timeout_s * 1e9)),
      &signals_seen());
  if (!s) return Failure{signals_seen() != 0 ? ExitCode::kTestFailed : ExitCode::kPeer, s.error().message};
  socket_ = *std::move(s);
  return std::nullopt;
}

std::optional<Failure> Connection::wait_for_peer(const std::function<Time()>& clock) {
  const config::OobConfig& oob = options_.config.oob;
  Result<OobListener> l = OobListener::listen(oob.address, oob.port);
  if (!l) return Failure{ExitCode::kUsage, l.error().message};
  Doorman door(*std::move(l), software(), peer_timeout(options_.config),
               [this](const std::string& line) { console_.log(line); });
  report::say(stderr, "serving on {} port {}\n", oob.address,
              door.port());  // scripts wait for it: not quiet
  std::optional<Guest> guest;
  while (!guest) {
    if (signals_seen() != 0) return Failure{ExitCode::kTestFailed, "interrupted before a peer connected"};
    guest = door.step(clock());
  }
  socket_ = std::move(guest->socket);
  exchange_ = std::move(guest->exchange);
  console_.log(fmt::format("connection from {}", socket_.peer_name()));
  if (door.strangers() != 0) {
    warnings_.push_back(
        fmt::format("{} connections to the exchange's port were no peer and were refused", door.strangers()));
  }
  return std::nullopt;
}

/// Planes that reach other machines and an exchange that does not, or the other way round.
void Connection::warn_of_reach() {
  const config::Profile p = options_.config.profile;
  const std::string& address = options_.config.oob.address;
  const bool far =
      p == config::Profile::kAfPacket || p == config::Profile::kAfXdp || p == config::Profile::kEthdev;
  const bool local = address.starts_with("127.") || address == "::1";
  if (far && local && options_.command == Command::kServe) {
    console_.log(
        fmt::format("listening on {}: only this machine reaches it; for a peer on another one: --listen "
                    "ADDRESS, or --listen 0.0.0.0 for all addresses",
                    address));
  }
  if (config::joins_by_sockets(p) && !local) {
    console_.log(fmt::format(
        "profile {} joins two processes of this machine; if {} is for a peer on another one, both need "
        "planes that reach it: --profile af_packet --device INTERFACE, or another",
        config::name_of(p), address));
  }
}

std::optional<Failure> Connection::greet_during(const std::function<std::optional<Failure>()>& build,
                                                const std::function<Time()>& clock) {
  const std::string hello = Exchange::greeting(ExchangeRole::kRun, software());
  SetupPulse pulse(socket_, hello, encode(Ping{}), Exchange::kPingInterval);
  std::optional<Failure> failure = build();
  const std::string heard = pulse.finish();
  failure = or_interrupted(std::move(failure));
  if (failure) {
    socket_.send(encode(Abort{static_cast<int>(ExitCode::kPeer), failure->message}));
    socket_.flush(kFlushTimeout);
    return failure;
  }
  exchange_ =
      std::make_unique<Exchange>(ExchangeRole::kRun, software(), peer_timeout(options_.config), clock());
  exchange_->take_back_greeting();
  exchange_->on_bytes(heard, clock());
  return std::nullopt;
}

void Connection::carry(Exchange& exchange, Time now) {
  if (exchange.has_output() && !socket_.send(exchange.take_output())) {
    exchange.on_disconnect(socket_.error());
  }
  if (now < next_io_ || exchange.over()) return;
  next_io_ = now + kSocketInterval;
  in_.clear();
  const bool open = socket_.receive(in_);
  if (!in_.empty()) exchange.on_bytes(in_, now);
  if (!open) exchange.on_disconnect(socket_.error());
  if (open && !socket_.send("")) exchange.on_disconnect(socket_.error());
}

void Connection::say_rest(Exchange& exchange) {
  if (exchange.has_output()) socket_.send(exchange.take_output());
}

void Connection::flush() {
  socket_.flush(kFlushTimeout);
}

}  // namespace mrc::endpoint
