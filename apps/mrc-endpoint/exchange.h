// SPDX-License-Identifier: BSD-3-Clause
// The out-of-band exchange as a state machine without sockets and clocks: bytes and a time go in, lines and
// events come out. It knows which message is allowed when, how long the peer may stay silent, and how each
// side learns why the other gives up. What the messages mean to QPs and buffers is the session's business.
//
//   run:   hello ->  offer ->                 ready ->  phase ...
//   serve: hello <-           accept|refuse <-  ready <-  phase_ready ...
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "exchange_messages.h"
#include "exit_code.h"

namespace mrc::endpoint {

enum class ExchangeRole : std::uint8_t { kServe, kRun };

/// Why the exchange ended before both said bye.
struct ExchangeFailure {
  ExitCode code = ExitCode::kPeer;
  std::string message;  ///< for a person
};

/// Thread rule: one owner. Never throws, never asserts on peer input.
class Exchange {
 public:
  enum class State : std::uint8_t { kHello, kOffer, kSettingUp, kRunning, kClosed, kFailed };

  /// `peer_timeout`: silence after which the peer counts as gone; also the time for its hello. We ping four
  /// times a second or more, as the peer's timeout may be shorter than ours.
  Exchange(ExchangeRole role, std::string software, Duration peer_timeout, Time now);
  /// The first line of an exchange, for who has to greet before it has an Exchange (set-up takes seconds).
  static std::string greeting(ExchangeRole role, const std::string& software);
  /// Longest time between our pings.
  static constexpr Duration kPingInterval = milliseconds(250);
  /// From hello to offer, and from there until both are ready: starting DPDK and taking memory. Pings do not
  /// prolong it.
  static constexpr Duration kSetUpPatience = seconds(120);
  /// The hello has been sent by other means.
  void take_back_greeting() { output_.clear(); }

  void on_bytes(std::string_view bytes, Time now);
  /// The connection ended, in the words of the system ("closed by the peer", "Connection reset by peer").
  void on_disconnect(std::string_view how);
  void on_time(Time now);
  [[nodiscard]] Time deadline() const;

  /// Lines to write to the peer; empties the buffer.
  std::string take_output();
  [[nodiscard]] bool has_output() const { return !output_.empty(); }

  /// The next message that the session has to act upon; pings and hellos never show.
  std::optional<Message> next();

  /// Sends a message that the state allows (asserted: that is our own doing).
  void send(const Message& m);
  /// Ends the exchange and tells the peer why. Only the first call counts.
  void refuse(const std::string& reason);
  void abort(ExitCode code, const std::string& reason);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] bool over() const { return state_ == State::kClosed || state_ == State::kFailed; }
  [[nodiscard]] const std::optional<ExchangeFailure>& failure() const { return failure_; }
  [[nodiscard]] const Hello& peer() const { return peer_; }

 private:
  void on_line(std::string_view line);
  void on_message(Message m);
  void on_hello(const Hello& hello);
  [[nodiscard]] bool allowed(const Message& m, bool from_peer) const;
  void advance(const Message& m, bool from_peer);
  void fail(ExitCode code, std::string message);
  [[nodiscard]] Duration patience() const;

  const ExchangeRole role_;
  const Duration peer_timeout_;
  State state_ = State::kHello;
  Time last_heard_;
  Time next_ping_;
  State watched_ = State::kHello;  ///< the state that began at watched_since_
  Time watched_since_;
  bool offer_said_ = false;
  bool ready_sent_ = false, ready_received_ = false;
  bool bye_sent_ = false, bye_received_ = false;
  Hello peer_;
  std::string input_;
  std::string output_;
  std::deque<Message> events_;
  std::optional<ExchangeFailure> failure_;
};

}  // namespace mrc::endpoint
