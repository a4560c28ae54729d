// SPDX-License-Identifier: BSD-3-Clause
#include "cc_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cc_config.h"
#include "cc_keys.h"

namespace mrc::simapp {

/// What a line says, checked.
struct CcModel::Event {
  enum class Kind : std::uint8_t { kAck, kNack, kLoss, kTimeout, kSend, kLate };
  Kind kind = Kind::kAck;
  Time at;
  std::int64_t bytes = 0;
  bool marked = false;
  std::optional<Duration> rtt;
  std::int64_t pen = 0;
  bool restore = false;
  wire::NackReason reason{};
  bool charged = true;
  std::optional<RcvdUnits> rcvd_field;
};

namespace {

void read_reason(const Json& object, Fields& in, wire::NackReason& out) {
  const auto it = object.find("reason");
  if (it == object.end()) {
    in.fail("no reason; a nack has one, such as \"TRIMMED\" or 1");
    return;
  }
  std::string word;
  std::int64_t code = 0;
  if (it->is_string() ? !in.word("reason", word) : !in.whole("reason", 0, 255, code)) return;
  std::string known;
  for (const ReasonName& r : kReasons) {
    if (it->is_string() ? word == r.name : code == static_cast<int>(r.value)) {
      out = r.value;
      return;
    }
    fmt::format_to(std::back_inserter(known), "{}{} (0x{:02x})", known.empty() ? "" : ", ", r.name,
                   static_cast<unsigned>(r.value));
  }
  in.fail(fmt::format("reason is {}; it must be one of {}",
                      it->is_string() ? printable(word) : fmt::format("{}", code), known));
}

}  // namespace

// An RTT comes as such, as a delay above the present base, or as the reflected 16-bit timestamp (D18). With
// `resends` and `rtx` the rule of a local send-time table decides whether it is believed (2.4).
void CcModel::read_rtt(Fields& in, Event& e) const {
  std::int64_t delay = 0;
  std::int64_t rtt = 0;
  std::int64_t ticks = 0;
  const bool has_delay = in.whole("delay_ns", 0, kMaxSpanNs, delay);
  const bool has_rtt = in.whole("rtt_ns", 1, kMaxSpanNs, rtt);
  const bool has_ticks = in.whole("tx_timestamp", 0, Tick::kMask, ticks);
  if (int{has_delay} + int{has_rtt} + int{has_ticks} > 1)
    in.fail("more than one of delay_ns, rtt_ns and tx_timestamp: they are three words for one RTT, keep one");
  if (has_delay) e.rtt = nscc().state().base + nanoseconds(delay);
  if (has_rtt) e.rtt = nanoseconds(rtt);
  if (has_ticks) e.rtt = cc::rtt_from_ticks(tick_of(e.at), Tick{static_cast<std::uint32_t>(ticks)});
  std::int64_t resends = 0;
  bool rtx = false;
  const bool has_resends = in.whole("resends", 0, 1'000'000, resends);
  const bool has_rtx = in.flag("rtx", rtx);
  if ((has_resends || has_rtx) && !cc::rtt_sample_valid(static_cast<unsigned>(resends), rtx)) e.rtt.reset();
}

void CcModel::read_bytes(Fields& in, const std::string& kind, Event& e) const {
  std::int64_t field = 0;
  const bool has_bytes = in.whole("bytes", 0, kMaxEventBytes, e.bytes);
  const bool has_field = kind == "ack" && in.whole("rcvd_bytes", 0, RcvdUnits::kMask, field);
  if (has_field) e.rcvd_field = RcvdUnits{static_cast<std::uint32_t>(field)};
  if (has_bytes == has_field)
    in.fail(has_bytes ? "both bytes and rcvd_bytes: the second is the counter field that the first follows "
                        "from, keep one"
                      : fmt::format("no bytes; every {} has them", kind));
}

Result<CcModel::Event> CcModel::read_event(const Json& object, const std::string& kind) {
  static constexpr std::pair<const char*, Event::Kind> kKinds[] = {
      {"ack", Event::Kind::kAck},         {"nack", Event::Kind::kNack}, {"loss", Event::Kind::kLoss},
      {"timeout", Event::Kind::kTimeout}, {"send", Event::Kind::kSend}, {"late", Event::Kind::kLate}};
  Event e;
  const auto* found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& k) { return kind == k.first; });
  if (found == std::end(kKinds))
    return Error{fmt::format(
        "event is \"{}\"; it must be one of ack, nack, loss, timeout, send, late, config", printable(kind))};
  e.kind = found->second;
  Fields in(object);
  std::string event;
  in.word("event", event);
  if (!in.whole("t_ns", 0, kMaxTimeNs, e.at.ns)) in.fail("no t_ns; every event has a time");
  if (in.ok() && e.at < now_)
    in.fail(fmt::format("t_ns is {}; it must not lie before {}, the time of the line before: sort the events",
                        e.at.ns, now_.ns));
  read_bytes(in, kind, e);
  if (e.kind == Event::Kind::kAck || e.kind == Event::Kind::kNack) read_rtt(in, e);
  if (e.kind == Event::Kind::kAck) {
    in.flag("marked", e.marked);
    in.whole("pen", 0, 127, e.pen);
    in.flag("restore", e.restore);
  }
  if (e.kind == Event::Kind::kNack) {
    read_reason(object, in, e.reason);
    in.flag("charged", e.charged);
  }
  if (auto r = in.finish(); !r) return r.error();
  return e;
}

void CcModel::act(const Event& e) {
  switch (e.kind) {
    case Event::Kind::kAck:
      qpcc_->on_ack(
          {.newly_received_bytes = e.rcvd_field ? cc::newly_received_bytes(newest_, *e.rcvd_field) : e.bytes,
           .marked = e.marked,
           .rtt = e.rtt,
           .rcv_cwnd_pen = static_cast<std::uint8_t>(e.pen),
           .restore_cwnd = e.restore},
          e.at);
      break;
    case Event::Kind::kNack:
      qpcc_->on_nack({.reason = e.reason,
                      .charged_bytes = e.charged ? e.bytes : 0,
                      .nominal_bytes = e.bytes,
                      .rtt = e.rtt},
                     e.at);
      break;
    case Event::Kind::kLoss:
    case Event::Kind::kTimeout:  // alike for the controller
      qpcc_->on_loss(e.bytes, e.at);
      break;
    case Event::Kind::kSend:
      qpcc_->on_sent(e.bytes);
      break;
    case Event::Kind::kLate:
      qpcc_->on_received_after_given_up(e.bytes);
      break;
  }
  now_ = e.at;
}

std::string CcModel::state_text() const {
  std::string out;
  each_state_key(nscc().state(), [&](const char* key, const auto& v) {
    fmt::format_to(std::back_inserter(out), R"("{}":{},)", key, json_value(v));
    if (std::string_view(key) == "wmax")
      fmt::format_to(std::back_inserter(out), R"("inflight":{},)", qpcc_->inflight_bytes());
  });
  const std::uint32_t mtu = nscc().params().mtu_bytes;
  return out + fmt::format(R"("may_send":{},"ack_req":{})", qpcc_->may_send(mtu),
                           qpcc_->wants_ack(mtu, ack_gen_trigger_bytes_));
}

Result<std::string> CcModel::configure(const Json& object) {
  const auto config = read_cc_config(object);
  if (!config) return config.error();
  cc::Nscc algorithm(config->params, config->start);
  algorithm.set_state(config->state);
  qpcc_.emplace(algorithm, config->send_test);
  qpcc_->adjust_inflight(config->inflight);
  ack_gen_trigger_bytes_ = config->ack_gen_trigger_bytes;
  now_ = config->start;
  newest_ = RcvdUnits{0};
  return fmt::format(R"({{"t_ns":{},"event":"config",{},{}}})", now_.ns,
                     cc_config_text(config->params, config->send_test, ack_gen_trigger_bytes_), state_text());
}

Result<std::string> CcModel::step(const Json& object, const std::string& kind) {
  const auto event = read_event(object, kind);
  if (!event) return event.error();
  act(*event);
  return fmt::format(R"({{"t_ns":{},"event":"{}",{}}})", now_.ns, kind, state_text());
}

Result<std::string> CcModel::apply(std::string_view line) {
  const auto object = parse_object(line);
  if (!object) return object.error();
  const auto event = object->find("event");
  if (event != object->end() && !event->is_string())
    return Error{"event is no string; it must be one of ack, nack, loss, timeout, send, late, config"};
  const std::string kind = event == object->end() ? "" : event->get<std::string>();
  if (kind == "config" || (kind.empty() && !configured())) return configure(*object);
  if (!configured())
    return Error{fmt::format("event is \"{}\" before any configuration: the first line is {}",
                             printable(kind), R"({"rate_bps":100e9,"base_rtt_ns":12000,"mtu_bytes":4096})")};
  if (event == object->end())
    return Error{"no event; it must be one of ack, nack, loss, timeout, send, late, config"};
  return step(*object, kind);
}

}  // namespace mrc::simapp
