// SPDX-License-Identifier: BSD-3-Clause
// What the two ends tell each other over TCP: one JSON object a line. README.md documents every member.
// Decoding is strict about types and limits; members it does not know are ignored, so that a later minor
// revision may add some.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/limits.h"
#include "base/net.h"
#include "base/result.h"

namespace mrc::endpoint {

inline constexpr int kExchangeVersion = 1;
inline constexpr std::size_t kMaxLineBytes = 2U << 20;
inline constexpr std::size_t kMaxExchangeQps = 4096;
inline constexpr std::size_t kMaxExchangeWorkers = 16;
inline constexpr std::size_t kMaxTextBytes = 1000;

struct Hello {
  int version = kExchangeVersion;
  std::string role;      ///< "serve" or "run"
  std::string software;  ///< for people
};

/// Attributes of T10-1: what our responder offers and can do.
struct ResponderAttributes {
  std::uint16_t max_wimm_dest = 32;
  std::uint8_t max_mpr_dest = 8;
  bool dynamic_mpr = false;
  bool trim_nack = true;
  bool svc_time = false;
};

struct PlaneAddress {
  IpAddress ip;
  MacAddress mac;
  friend bool operator==(const PlaneAddress&, const PlaneAddress&) = default;
};

struct QpOffer {
  std::uint32_t qpn = 0;
  std::uint32_t first_psn = 0;  ///< of what we send: the peer's RQ_PSN
  std::uint8_t worker = 0;      ///< index into addresses
  std::uint32_t rkey = 0;
  std::uint64_t target_va = 0;
  std::uint64_t target_bytes = 0;
};

/// What both ends must agree on; `run` decides, `serve` may refuse.
struct Workload {
  std::string kind;  ///< write_bw, write_lat, write_imm
  std::uint64_t seed = 0;
  std::uint32_t qps = 0;
  std::uint64_t max_size_bytes = 0;
  std::uint64_t region_bytes = 0;  ///< what each QP's target must hold
  bool bidirectional = false;
  bool verify = true;
};

/// One end's resources. `run` sends it as "offer" with the workload, `serve` answers with "accept".
struct Offer {
  Workload workload;                            ///< in an offer only
  std::uint16_t mtu = 0;                        ///< largest path MTU this end can use
  bool mtu_fixed = true;                        ///< it uses no other
  std::uint16_t udp_port = 0;                   ///< destination port we send to
  std::vector<std::uint16_t> accept_udp_ports;  ///< destination ports we listen on
  ResponderAttributes attributes;
  std::vector<std::vector<PlaneAddress>> addresses;  ///< [worker][plane]
  std::vector<QpOffer> qps;
};
/// `offer.workload.verify`: false when this end will not look at the data (--no-verify); then neither does.
struct Accept {
  Offer offer;
};
struct Refuse {
  std::string reason;
};
/// QPs are in RTS.
struct Ready {};

/// `run` starts a phase; `serve` answers PhaseReady when targets are poisoned and receives posted.
struct PhaseStart {
  std::uint32_t index = 0;
  std::uint64_t size_bytes = 0;
  std::uint32_t slots = 0;
  std::uint64_t iterations = 0;  ///< 0: until PhaseDone
  double duration_s = 0;
};
struct PhaseReady {
  std::uint32_t index = 0;
};
/// Counts of one QP since the phase began.
struct Progress {
  std::uint32_t index = 0;
  struct Entry {
    std::uint32_t qp = 0;
    std::uint64_t completed = 0;  ///< messages we sent that were acknowledged: the peer may check them
    std::uint64_t released = 0;   ///< messages of the peer that we checked: their slots are free again
  };
  std::vector<Entry> entries;
};
/// This end sends no more in this phase; `sent` by QP.
struct PhaseDone {
  std::uint32_t index = 0;
  bool interrupted = false;
  std::vector<std::uint64_t> sent;
};
/// What this end received.
struct PhaseReport {
  std::uint32_t index = 0;
  bool verified = true;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t messages_bad = 0;
  std::string first_bad;
};
/// Ask the other end to finish the phase and then the run (SIGINT).
struct Stop {};
struct Ping {};
struct Bye {};
/// The run is over for a reason that is not the peer's wish.
struct Abort {
  int code = 3;  ///< the sender's exit code
  std::string reason;
};

using Message = std::variant<Hello, Offer, Accept, Refuse, Ready, PhaseStart, PhaseReady, Progress, PhaseDone,
                             PhaseReport, Stop, Ping, Bye, Abort>;

/// The value of "type".
const char* type_of(const Message& m);
/// One line with its newline.
std::string encode(const Message& m);
/// `line` without newline. Errors say which member is wrong, its value and the limit.
Result<Message> decode(std::string_view line);

}  // namespace mrc::endpoint
