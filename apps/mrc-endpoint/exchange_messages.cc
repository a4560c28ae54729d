// SPDX-License-Identifier: BSD-3-Clause
#include "exchange_messages.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "config/address_rule.h"
#include "config/json_text.h"

namespace mrc::endpoint {
namespace {

using Json = nlohmann::json;

/// Thrown by Reader, caught in decode(); never leaves this file.
struct Bad {
  std::string what;
};

/// What is no value of ours may be long.
std::string excerpt(std::string_view s) {
  return printable(s.substr(0, 60));
}

/// As much as the peer's decoder takes.
std::string clipped(const std::string& s) {
  return s.substr(0, kMaxTextBytes);
}

/// Checked access to the members of one object.
class Reader {
 public:
  Reader(const Json& j, std::string path) : j_(j), path_(std::move(path)) {
    if (!j_.is_object()) throw Bad{path_ + " is not an object"};
  }

  template <class T>
  T number(const char* key, std::uint64_t hi = std::numeric_limits<T>::max(), std::uint64_t lo = 0) const {
    const Json& v = member(key);
    if (!v.is_number_unsigned())
      throw Bad{fmt::format("{} is not a whole number: {:.60}", name(key), excerpt(v.dump()))};
    const auto n = v.get<std::uint64_t>();
    if (n < lo || n > hi) throw Bad{fmt::format("{} is {}, allowed are {} to {}", name(key), n, lo, hi)};
    return static_cast<T>(n);
  }
  /// 64-bit values travel as decimal text: other languages read JSON numbers as doubles.
  [[nodiscard]] std::uint64_t wide(const char* key) const {
    const std::string s = text(key);
    std::uint64_t n = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (s.empty() || error != std::errc{} || end != s.data() + s.size()) {
      throw Bad{fmt::format("{} is not a decimal number in quotes: {:.60}", name(key), s)};
    }
    return n;
  }
  [[nodiscard]] double real(const char* key, double hi) const {
    const Json& v = member(key);
    if (!v.is_number() || !(v.get<double>() >= 0) || !(v.get<double>() <= hi)) {
      throw Bad{fmt::format("{} is not a number from 0 to {}: {:.60}", name(key), hi, excerpt(v.dump()))};
    }
    return v.get<double>();
  }
  [[nodiscard]] bool flag(const char* key) const {
    const Json& v = member(key);
    if (!v.is_boolean())
      throw Bad{fmt::format("{} is not true or false: {:.60}", name(key), excerpt(v.dump()))};
    return v.get<bool>();
  }
  [[nodiscard]] std::string text(const char* key) const {
    const Json& v = member(key);
    if (!v.is_string()) throw Bad{fmt::format("{} is not text: {:.60}", name(key), excerpt(v.dump()))};
    const auto& s = v.get_ref<const std::string&>();
    if (s.size() > kMaxTextBytes)
      throw Bad{fmt::format("{} has {} bytes, at most {}", name(key), s.size(), kMaxTextBytes)};
    return printable(s);
  }
  [[nodiscard]] const Json& array(const char* key, std::size_t max) const {
    const Json& v = member(key);
    if (!v.is_array()) throw Bad{name(key) + " is not a list"};
    if (v.size() > max) throw Bad{fmt::format("{} has {} entries, at most {}", name(key), v.size(), max)};
    return v;
  }
  [[nodiscard]] Reader object(const char* key) const { return Reader(member(key), name(key)); }
  [[nodiscard]] std::string name(const char* key) const { return path_.empty() ? key : path_ + "." + key; }

 private:
  [[nodiscard]] const Json& member(const char* key) const {
    const auto it = j_.find(key);
    if (it == j_.end()) throw Bad{name(key) + " is missing"};
    return *it;
  }

  const Json& j_;
  std::string path_;
};

// --- one pair of functions a message: what goes out, what comes in
// ---------------------------------------------

Json to(const Hello& m) {
  return {
      {"protocol", "softmrc.exchange"}, {"version", m.version}, {"role", m.role}, {"software", m.software}};
}
void from(const Reader& r, Hello& m) {
  if (r.text("protocol") != "softmrc.exchange") {
    throw Bad{fmt::format("protocol is '{:.40}', not 'softmrc.exchange'", r.text("protocol"))};
  }
  m.version = r.number<int>("version", 1000000);
  m.role = r.text("role");
  m.software = r.text("software");
}

Json to(const Workload& w) {
  return {{"kind", w.kind},
          {"seed", std::to_string(w.seed)},
          {"qps", w.qps},
          {"max_size_bytes", w.max_size_bytes},
          {"region_bytes", std::to_string(w.region_bytes)},
          {"bidirectional", w.bidirectional},
          {"verify", w.verify}};
}
Workload workload_from(const Reader& r) {
  Workload w;
  w.kind = r.text("kind");
  w.seed = r.wide("seed");
  w.qps = r.number<std::uint32_t>("qps", kMaxExchangeQps, 1);
  w.max_size_bytes = r.number<std::uint64_t>("max_size_bytes", kMaxMessageBytes);
  w.region_bytes = r.wide("region_bytes");
  w.bidirectional = r.flag("bidirectional");
  w.verify = r.flag("verify");
  return w;
}

Json to_resources(const Offer& o) {
  Json addresses = Json::array();
  for (const auto& worker : o.addresses) {
    Json planes = Json::array();
    for (const PlaneAddress& p : worker)
      planes.push_back({{"ip", p.ip.to_string()}, {"mac", p.mac.to_string()}});
    addresses.push_back(std::move(planes));
  }
  Json qps = Json::array();
  for (const QpOffer& q : o.qps) {
    qps.push_back({{"qpn", q.qpn},
                   {"first_psn", q.first_psn},
                   {"worker", q.worker},
                   {"rkey", q.rkey},
                   {"target_va", std::to_string(q.target_va)},
                   {"target_bytes", std::to_string(q.target_bytes)}});
  }
  const ResponderAttributes& a = o.attributes;
  return {{"mtu", o.mtu},
          {"mtu_fixed", o.mtu_fixed},
          {"udp_port", o.udp_port},
          {"accept_udp_ports", o.accept_udp_ports},
          {"attributes",
           {{"MAX_WIMM_DEST", a.max_wimm_dest},
            {"MAX_MPR_DEST", a.max_mpr_dest},
            {"DYNAMIC_MPR", a.dynamic_mpr},
            {"TRIM_NACK", a.trim_nack},
            {"SVC_TIME", a.svc_time}}},
          {"addresses", std::move(addresses)},
          {"qps", std::move(qps)}};
}

PlaneAddress plane_from(const Reader& r) {
  const auto ip = IpAddress::parse(r.text("ip"));
  const auto mac = MacAddress::parse(r.text("mac"));
  if (!ip) throw Bad{fmt::format("{} is not an IP address: '{:.60}'", r.name("ip"), r.text("ip"))};
  if (const std::string_view why = config::not_a_host(*ip); !why.empty())
    throw Bad{fmt::format("{} is {}, {}; a plane has the unicast address of one host", r.name("ip"),
                          ip->to_string(), why)};
  if (!mac || mac->is_zero() || (mac->bytes[0] & 1) != 0) {
    throw Bad{fmt::format("{} is not a unicast MAC address: '{:.60}'", r.name("mac"), r.text("mac"))};
  }
  return {*ip, *mac};
}

QpOffer qp_from(const Reader& r, std::size_t workers) {
  QpOffer q;
  q.qpn = r.number<std::uint32_t>("qpn", 0xFFFFFF, 3);  // 0, 1 and 2 are reserved
  q.first_psn = r.number<std::uint32_t>("first_psn", 0xFFFFFF);
  q.worker = r.number<std::uint8_t>("worker", workers - 1);
  q.rkey = r.number<std::uint32_t>("rkey");
  q.target_va = r.wide("target_va");
  q.target_bytes = r.wide("target_bytes");
  if (q.target_va + q.target_bytes < q.target_va)
    throw Bad{r.name("target_bytes") + " wraps the address space"};
  return q;
}

Offer resources_from(const Reader& r) {
  Offer o;
  o.mtu = r.number<std::uint16_t>("mtu", kMaxPmtu, kMinPmtu);
  o.mtu_fixed = r.flag("mtu_fixed");
  if (!is_valid_pmtu(o.mtu)) throw Bad{fmt::format("{} is {}, not a power of two", r.name("mtu"), o.mtu)};
  o.udp_port = r.number<std::uint16_t>("udp_port", 65535, 1);
  for (const Json& port : r.array("accept_udp_ports", 4)) {
    if (!port.is_number_unsigned() || port.get<std::uint64_t>() > 65535)
      throw Bad{"accept_udp_ports: not a port"};
    o.accept_udp_ports.push_back(port.get<std::uint16_t>());
  }
  const Reader a = r.object("attributes");
  o.attributes.max_wimm_dest = a.number<std::uint16_t>("MAX_WIMM_DEST", 65535, 32);
  o.attributes.max_mpr_dest = a.number<std::uint8_t>("MAX_MPR_DEST", 255, 1);
  o.attributes.dynamic_mpr = a.flag("DYNAMIC_MPR");
  o.attributes.trim_nack = a.flag("TRIM_NACK");
  o.attributes.svc_time = a.flag("SVC_TIME");
  for (const Json& worker : r.array("addresses", kMaxExchangeWorkers)) {
    if (!worker.is_array() || worker.empty() || worker.size() > kMaxPlanes) {
      throw Bad{fmt::format("addresses: a worker has 1 to {} planes", kMaxPlanes)};
    }
    std::vector<PlaneAddress>& planes = o.addresses.emplace_back();
    for (const Json& p : worker) planes.push_back(plane_from(Reader(p, "addresses[][]")));
    if (planes.size() != o.addresses.front().size())
      throw Bad{"addresses: workers differ in their number of planes"};
  }
  if (o.addresses.empty()) throw Bad{"addresses is empty"};
  std::set<std::uint32_t> qpns;
  for (const Json& q : r.array("qps", kMaxExchangeQps)) {
    o.qps.push_back(qp_from(Reader(q, fmt::format("qps[{}]", o.qps.size())), o.addresses.size()));
    if (!qpns.insert(o.qps.back().qpn).second)
      throw Bad{fmt::format("qps[{}].qpn is {}, as another QP's", o.qps.size() - 1, o.qps.back().qpn)};
  }
  if (o.qps.empty()) throw Bad{"qps is empty"};
  return o;
}

Json to(const Offer& m) {
  Json j = to_resources(m);
  j["workload"] = to(m.workload);
  return j;
}
void from(const Reader& r, Offer& m) {
  m = resources_from(r);
  m.workload = workload_from(r.object("workload"));
}
Json to(const Accept& m) {
  Json j = to_resources(m.offer);
  j["verify"] = m.offer.workload.verify;
  return j;
}
void from(const Reader& r, Accept& m) {
  m.offer = resources_from(r);
  m.offer.workload.verify = r.flag("verify");
}

Json to(const Refuse& m) {
  return {{"reason", clipped(m.reason)}};
}
void from(const Reader& r, Refuse& m) {
  m.reason = r.text("reason");
}

Json to(const PhaseStart& m) {
  return {{"index", m.index},
          {"size_bytes", m.size_bytes},
          {"slots", m.slots},
          {"iterations", m.iterations},
          {"duration_s", m.duration_s}};
}
void from(const Reader& r, PhaseStart& m) {
  m.index = r.number<std::uint32_t>("index");
  m.size_bytes = r.number<std::uint64_t>("size_bytes", kMaxMessageBytes);
  m.slots = r.number<std::uint32_t>("slots", 1U << 20, 1);
  m.iterations = r.number<std::uint64_t>("iterations", 1ULL << 40);
  m.duration_s = r.real("duration_s", 86400);
}

Json to(const PhaseReady& m) {
  return {{"index", m.index}};
}
void from(const Reader& r, PhaseReady& m) {
  m.index = r.number<std::uint32_t>("index");
}

Json to(const Progress& m) {
  Json entries = Json::array();
  for (const Progress::Entry& e : m.entries) entries.push_back({e.qp, e.completed, e.released});
  return {{"index", m.index}, {"qps", std::move(entries)}};
}
void from(const Reader& r, Progress& m) {
  m.index = r.number<std::uint32_t>("index");
  for (const Json& e : r.array("qps", kMaxExchangeQps)) {
    if (!e.is_array() || e.size() != 3 || !e[0].is_number_unsigned() || !e[1].is_number_unsigned() ||
        !e[2].is_number_unsigned() || e[0].get<std::uint64_t>() >= kMaxExchangeQps) {
      throw Bad{"qps: an entry is not [qp, completed, released]"};
    }
    m.entries.push_back({e[0].get<std::uint32_t>(), e[1].get<std::uint64_t>(), e[2].get<std::uint64_t>()});
  }
}

Json to(const PhaseDone& m) {
  return {{"index", m.index}, {"interrupted", m.interrupted}, {"sent", m.sent}};
}
void from(const Reader& r, PhaseDone& m) {
  m.index = r.number<std::uint32_t>("index");
  m.interrupted = r.flag("interrupted");
  for (const Json& n : r.array("sent", kMaxExchangeQps)) {
    if (!n.is_number_unsigned()) throw Bad{"sent: an entry is not a whole number"};
    m.sent.push_back(n.get<std::uint64_t>());
  }
}

Json to(const PhaseReport& m) {
  return {{"index", m.index}, {"verified", m.verified},         {"messages", m.messages},
          {"bytes", m.bytes}, {"messages_bad", m.messages_bad}, {"first_bad", clipped(m.first_bad)}};
}
void from(const Reader& r, PhaseReport& m) {
  m.index = r.number<std::uint32_t>("index");
  m.verified = r.flag("verified");
  m.messages = r.number<std::uint64_t>("messages");
  m.bytes = r.number<std::uint64_t>("bytes");
  m.messages_bad = r.number<std::uint64_t>("messages_bad");
  m.first_bad = r.text("first_bad");
}

Json to(const Abort& m) {
  return {{"code", m.code}, {"reason", clipped(m.reason)}};
}
void from(const Reader& r, Abort& m) {
  m.code = r.number<int>("code", 255);
  m.reason = r.text("reason");
}

template <class Empty>
Json to(const Empty&) {
  return Json::object();
}
template <class Empty>
void from(const Reader&, Empty&) {}

// In the order of Message's alternatives.
constexpr std::array<const char*, std::variant_size_v<Message>> kTypes{
    "hello",    "offer",      "accept",       "refuse", "ready", "phase", "phase_ready",
    "progress", "phase_done", "phase_report", "stop",   "ping",  "bye",   "abort"};

template <std::size_t I = 0>
Message decode_as(std::string_view type, const Reader& r) {
  if constexpr (I < kTypes.size()) {
    if (type != kTypes[I]) return decode_as<I + 1>(type, r);
    std::variant_alternative_t<I, Message> m;
    from(r, m);
    return m;
  } else {
    throw Bad{fmt::format("type '{:.40}' is not known", type)};
  }
}

}  // namespace

const char* type_of(const Message& m) {
  return kTypes[m.index()];
}

std::string encode(const Message& m) {
  Json j = std::visit([](const auto& x) { return to(x); }, m);
  j["type"] = type_of(m);
  return j.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Result<Message> decode(std::string_view line) {
  if (line.size() > kMaxLineBytes) return Error{fmt::format("a line of more than {} bytes", kMaxLineBytes)};
  try {
    const auto j = config::parse_json<Json>(line);
    if (!j) return j.error();
    const Reader r(*j, "");
    return decode_as(r.text("type"), r);
  } catch (const Bad& bad) {
    return Error{bad.what};
  } catch (const Json::exception& e) {
    return Error{e.what()};
  }
}

}  // namespace mrc::endpoint
