// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace mrc::endpoint {
namespace {

/// Messages that the session has not taken yet; a peer that sends more without our answering is flooding.
constexpr std::size_t kMaxEvents = 4096;

Duration ping_interval(Duration peer_timeout) {
  return std::min(peer_timeout / 4, Exchange::kPingInterval);
}

/// Before anything runs the exchange alone watches that it goes on.
bool has_deadline(Exchange::State s) {
  return s == Exchange::State::kHello || s == Exchange::State::kOffer || s == Exchange::State::kSettingUp;
}

const char* name_of(Exchange::State s) {
  switch (s) {
    case Exchange::State::kHello:
      return "greeting";
    case Exchange::State::kOffer:
      return "negotiating";
    case Exchange::State::kSettingUp:
      return "setting up";
    case Exchange::State::kRunning:
      return "running";
    case Exchange::State::kClosed:
      return "closed";
    case Exchange::State::kFailed:
      return "failed";
  }
  return "?";
}

}  // namespace

Exchange::Exchange(ExchangeRole role, std::string software, Duration peer_timeout, Time now)
    : role_(role),
      peer_timeout_(peer_timeout),
      last_heard_(now),
      next_ping_(now + ping_interval(peer_timeout)),
      watched_since_(now) {
  output_ = greeting(role, software);
}

std::string Exchange::greeting(ExchangeRole role, const std::string& software) {
  return encode(Hello{kExchangeVersion, role == ExchangeRole::kServe ? "serve" : "run", software});
}

/// How long a state with a deadline may last.
Duration Exchange::patience() const {
  if (state_ == State::kHello) return peer_timeout_;
  return std::max(kSetUpPatience, peer_timeout_);
}

void Exchange::on_bytes(std::string_view bytes, Time now) {
  if (over()) return;
  last_heard_ = now;
  while (!bytes.empty() && !over()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (input_.size() + part.size() > kMaxLineBytes) {
      return abort(ExitCode::kPeer, fmt::format("the peer sent a line of more than {} bytes", kMaxLineBytes));
    }
    input_ += part;
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    const std::string line = std::move(input_);
    input_.clear();
    on_line(line);
  }
}

void Exchange::on_line(std::string_view line) {
  Result<Message> m = decode(line);
  if (!m) {
    return abort(ExitCode::kPeer, fmt::format("the peer's message is not understood: {}", m.error().message));
  }
  on_message(*std::move(m));
}

void Exchange::on_message(Message m) {
  if (const Abort* a = std::get_if<Abort>(&m)) {
    // What went wrong on the other side is passed on as it is: both ends exit with the same code.
    const bool known = a->code == static_cast<int>(ExitCode::kTestFailed) ||
                       a->code == static_cast<int>(ExitCode::kTransport);
    return fail(known ? static_cast<ExitCode>(a->code) : ExitCode::kPeer,
                fmt::format("the peer gave up: {}", a->reason));
  }
  if (const Refuse* r = std::get_if<Refuse>(&m)) {
    return fail(ExitCode::kPeer, fmt::format("the peer refused: {}", r->reason));
  }
  if (!allowed(m, true)) {
    return abort(ExitCode::kPeer, fmt::format("the peer sent '{}' while {}", type_of(m), name_of(state_)));
  }
  if (std::holds_alternative<Ping>(m)) return;
  if (const Hello* hello = std::get_if<Hello>(&m)) return on_hello(*hello);
  advance(m, true);
  if (events_.size() >= kMaxEvents) {
    return abort(ExitCode::kPeer,
                 fmt::format("the peer sent more than {} messages without waiting", kMaxEvents));
  }
  events_.push_back(std::move(m));
}

void Exchange::on_hello(const Hello& hello) {
  const char* const wanted = role_ == ExchangeRole::kServe ? "run" : "serve";
  if (hello.version != kExchangeVersion) {
    return refuse(fmt::format("exchange version {} here, {} there; install the same release on both ends",
                              kExchangeVersion, hello.version));
  }
  if (hello.role != wanted) {
    return refuse(
        fmt::format("both ends are '{}'; start one with 'serve' and the other with 'run'", hello.role));
  }
  peer_ = hello;
  state_ = State::kOffer;
}

bool Exchange::allowed(const Message& m, bool from_peer) const {
  const bool from_run = (role_ == ExchangeRole::kRun) != from_peer;
  if (std::holds_alternative<Ping>(m)) return state_ != State::kHello || !from_peer;
  if (std::holds_alternative<Hello>(m)) return from_peer && state_ == State::kHello;
  if (std::holds_alternative<Offer>(m)) return from_run && state_ == State::kOffer && !offer_said_;
  if (std::holds_alternative<Accept>(m)) return !from_run && state_ == State::kOffer && offer_said_;
  if (std::holds_alternative<Ready>(m)) {
    return state_ == State::kSettingUp && !(from_peer ? ready_received_ : ready_sent_);
  }
  if (std::holds_alternative<Stop>(m)) return state_ == State::kSettingUp || state_ == State::kRunning;
  if (state_ != State::kRunning) return false;
  if (std::holds_alternative<PhaseStart>(m)) return from_run;
  if (std::holds_alternative<PhaseReady>(m)) return !from_run;
  if (std::holds_alternative<Bye>(m)) return !(from_peer ? bye_received_ : bye_sent_);
  return true;
}

void Exchange::advance(const Message& m, bool from_peer) {
  if (std::holds_alternative<Offer>(m)) offer_said_ = true;
  if (std::holds_alternative<Accept>(m)) state_ = State::kSettingUp;
  if (std::holds_alternative<Ready>(m)) {
    (from_peer ? ready_received_ : ready_sent_) = true;
    if (ready_sent_ && ready_received_) state_ = State::kRunning;
  }
  if (std::holds_alternative<Bye>(m)) {
    (from_peer ? bye_received_ : bye_sent_) = true;
    if (bye_sent_ && bye_received_) state_ = State::kClosed;
  }
}

void Exchange::send(const Message& m) {
  if (over()) return;
  assert(allowed(m, false));
  output_ += encode(m);
  advance(m, false);
}

void Exchange::refuse(const std::string& reason) {
  if (over()) return;
  output_ += encode(Refuse{reason});
  fail(ExitCode::kPeer, fmt::format("refused the peer: {}", reason));
}

void Exchange::abort(ExitCode code, const std::string& reason) {
  if (over()) return;
  output_ += encode(Abort{static_cast<int>(code), reason});
  fail(code, reason);
}

void Exchange::fail(ExitCode code, std::string message) {
  if (over()) return;
  state_ = State::kFailed;
  failure_ = ExchangeFailure{code, std::move(message)};
}

void Exchange::on_disconnect(std::string_view how) {
  if (over()) return;
  if (bye_sent_ || bye_received_) {  // what was to be said is said; the last bye may be lost
    state_ = State::kClosed;
    return;
  }
  fail(ExitCode::kPeer, fmt::format("the peer is gone: {} (while {})", how, name_of(state_)));
}

void Exchange::on_time(Time now) {
  if (over()) return;
  if (now >= last_heard_ + peer_timeout_) {
    return abort(ExitCode::kPeer, fmt::format("the peer has been silent for {:.1f} s (while {})",
                                              static_cast<double>(peer_timeout_.ns) / 1e9, name_of(state_)));
  }
  if (state_ != watched_) {
    watched_ = state_;
    watched_since_ = now;
  }
  if (has_deadline(state_) && now >= watched_since_ + patience()) {
    return abort(ExitCode::kPeer, fmt::format("the peer has not got further than '{}' within {:.1f} s",
                                              name_of(state_), static_cast<double>(patience().ns) / 1e9));
  }
  if (now >= next_ping_) {
    output_ += encode(Ping{});
    next_ping_ = now + ping_interval(peer_timeout_);
  }
}

Time Exchange::deadline() const {
  if (over()) return Time::never();
  const Time silent = earlier(last_heard_ + peer_timeout_, next_ping_);
  if (state_ != watched_) return Time{};  // on_time() has to see that it changed
  return has_deadline(state_) ? earlier(silent, watched_since_ + patience()) : silent;
}

std::string Exchange::take_output() {
  std::string out;
  out.swap(output_);
  return out;
}

std::optional<Message> Exchange::next() {
  if (events_.empty()) return std::nullopt;
  Message m = std::move(events_.front());
  events_.pop_front();
  return m;
}

}  // namespace mrc::endpoint
