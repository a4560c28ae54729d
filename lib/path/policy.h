// SPDX-License-Identifier: BSD-3-Clause
// Selection policies that the field compares MRC's selector (ev_set.h) with: oblivious spraying, UET's
// congestion bitmap, the UEC simulator's penalty score, REPS, and ECMP's single path. They pick among n EVs
// of one plane and learn from per-packet feedback; an owner with several planes keeps one a plane and
// rotates. A variant, not a base class. All memory is taken at construction.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"
#include "path/ev_table.h"

namespace mrc::path {

enum class PathFeedback : std::uint8_t {
  kGood,     ///< acknowledged unmarked
  kEcn,      ///< acknowledged, marked
  kTrim,     ///< trimmed before the last hop
  kTimeout,  ///< lost in silence
};

/// In which order a pass visits the EVs.
enum class PassOrder : std::uint8_t {
  kShuffled,  ///< a new permutation each pass
  kXor,       ///< index XOR a new random word each pass, as the UEC simulator; n is a power of two
  kFixed,     ///< 0, 1, 2, ...
};

/// Visits all of 0..n-1 once per pass. `pos` is the visit's place in its pass.
class Rotation {
 public:
  Rotation(std::size_t n, PassOrder order, std::uint64_t seed);
  EvIndex next();
  [[nodiscard]] std::size_t size() const { return n_; }
  Rng& rng() { return rng_; }

 private:
  std::size_t n_;
  PassOrder order_;
  Rng rng_;
  std::size_t pos_ = 0;
  std::uint64_t xor_ = 0;
  std::vector<EvIndex> list_;  ///< kShuffled: [0, pos) had their turn
};

/// Sprays evenly and learns nothing (UET 3.6.16.3).
class Oblivious {
 public:
  Oblivious(std::size_t n, PassOrder order, std::uint64_t seed) : rotation_(n, order, seed) {}
  EvIndex next(Time) { return rotation_.next(); }
  void feedback(EvIndex, PathFeedback, Time) {}

 private:
  Rotation rotation_;
};

/// One bit an EV (UET 3.6.16.4): a mark costs one turn, unless more than half of the EVs are marked.
class CongestionBitmap {
 public:
  CongestionBitmap(std::size_t n, PassOrder order, std::uint64_t seed);
  EvIndex next(Time);
  void feedback(EvIndex ev, PathFeedback what, Time);

 private:
  Rotation rotation_;
  std::vector<std::uint8_t> marked_;
  std::size_t marks_ = 0;
};

/// The UEC simulator's "bitmap": a score of 0..15 an EV, ECN +1, trim +4, timeout +15; an EV with a score is
/// passed over, and the first one a selection passes loses a point.
class PenaltyScore {
 public:
  PenaltyScore(std::size_t n, PassOrder order, std::uint64_t seed);
  EvIndex next(Time);
  void feedback(EvIndex ev, PathFeedback what, Time);

 private:
  Rotation rotation_;
  std::vector<std::uint8_t> score_;
};

/// REPS (arXiv 2407.21625): EVs that came back good are used again, oldest first; otherwise a random one.
/// After a timeout it freezes: only EVs once known good are used, until good news after `freeze`.
class Reps {
 public:
  struct Config {
    Duration freeze =
        microseconds(100);            ///< the UEC simulator has 10 ms; the paper claims re-routing below this
    std::uint32_t explore_pkts = 16;  ///< random picks after the thaw, with an empty ring
  };
  Reps(std::size_t n, const Config& config, std::uint64_t seed) : n_(n), config_(config), rng_(seed) {}
  EvIndex next(Time);
  void feedback(EvIndex ev, PathFeedback what, Time now);
  [[nodiscard]] bool frozen() const { return frozen_; }

 private:
  static constexpr std::uint32_t kRing = 8;
  struct Slot {
    EvIndex ev = kNoEv;
    bool fresh = false;
  };
  void store(EvIndex ev);

  std::size_t n_;
  Config config_;
  Rng rng_;
  Slot ring_[kRing];
  std::uint32_t write_ = 0;
  std::uint32_t stored_ = 0;
  std::uint32_t fresh_ = 0;
  std::uint32_t replay_ = 0;
  std::uint32_t explore_ = 0;
  bool frozen_ = false;
  Time thaw_;
};

/// ECMP without spraying: all packets of a flow on one EV.
class SinglePath {
 public:
  SinglePath(std::size_t n, std::uint64_t seed) : ev_(static_cast<EvIndex>(Rng(seed).below(n))) {}
  EvIndex next(Time) { return ev_; }
  void feedback(EvIndex, PathFeedback, Time) {}

 private:
  EvIndex ev_;
};

/// Any of them, by name: oblivious, bitmap, score, reps, single.
class Policy {
 public:
  using Any = std::variant<Oblivious, CongestionBitmap, PenaltyScore, Reps, SinglePath>;

  explicit Policy(Any any) : any_(std::move(any)) {}
  /// `n`: 1..kMaxEvs; for the order kXor a power of two. Refuses unknown names and lists the known ones.
  static Result<Policy> create(std::string_view name, std::size_t n, std::uint64_t seed,
                               PassOrder order = PassOrder::kShuffled);

  EvIndex next(Time now) {
    return std::visit([&](auto& p) { return p.next(now); }, any_);
  }
  void feedback(EvIndex ev, PathFeedback what, Time now) {
    if (ev != kNoEv) std::visit([&](auto& p) { p.feedback(ev, what, now); }, any_);
  }

 private:
  Any any_;
};

}  // namespace mrc::path
