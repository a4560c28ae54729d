// SPDX-License-Identifier: BSD-3-Clause
#include "doorman.h"

#include <fmt/format.h>

#include <utility>

namespace mrc::endpoint {
namespace {

constexpr std::uint64_t kMaxToldOf = 20;
constexpr Duration kQuiet = milliseconds(100);
constexpr Duration kBusy = milliseconds(5);
constexpr Duration kFarewell = milliseconds(20);  // to tell a stranger why; a full socket is not waited for

}  // namespace

Doorman::Doorman(OobListener listener, std::string software, Duration peer_timeout,
                 std::function<void(const std::string&)> log)
    : listener_(std::move(listener)),
      software_(std::move(software)),
      peer_timeout_(peer_timeout),
      log_(std::move(log)) {}

void Doorman::send_away(Guest& guest, const std::string& why) {
  if (strangers_++ < kMaxToldOf) log_(fmt::format("refused {}: {}", guest.socket.peer_name(), why));
  if (guest.exchange->has_output()) guest.socket.send(guest.exchange->take_output());
  guest.socket.flush(kFarewell);
}

bool Doorman::listen_to(Guest& guest, Time now) {
  std::string in;
  const bool open = guest.socket.receive(in);
  if (!in.empty()) guest.exchange->on_bytes(in, now);
  if (!open) guest.exchange->on_disconnect(guest.socket.error());
  guest.exchange->on_time(now);
  if (guest.exchange->has_output() && !guest.exchange->over() &&
      !guest.socket.send(guest.exchange->take_output())) {
    guest.exchange->on_disconnect(guest.socket.error());
  }
  return !guest.exchange->over() && guest.exchange->state() != Exchange::State::kHello;
}

std::optional<Guest> Doorman::step(Time now) {
  if (OobSocket s = listener_.accept(waiting_.empty() ? kQuiet : kBusy); s.open()) {
    if (waiting_.size() >= kMaxWaiting) {
      send_away(waiting_.front(), "others came and it had not greeted");
      waiting_.pop_front();
    }
    waiting_.push_back(
        {std::move(s), std::make_unique<Exchange>(ExchangeRole::kServe, software_, peer_timeout_, now)});
  }
  for (auto guest = waiting_.begin(); guest != waiting_.end();) {
    if (listen_to(*guest, now)) {
      Guest chosen = std::move(*guest);
      waiting_.erase(guest);
      for (Guest& other : waiting_) send_away(other, "another peer was first");
      waiting_.clear();
      return chosen;
    }
    if (guest->exchange->over()) {
      send_away(*guest, guest->exchange->failure() ? guest->exchange->failure()->message : "it left");
      guest = waiting_.erase(guest);
    } else {
      ++guest;
    }
  }
  return std::nullopt;
}

}  // namespace mrc::endpoint
