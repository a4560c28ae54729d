// SPDX-License-Identifier: BSD-3-Clause
#include "path/policy.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <string>
#include <utility>

namespace mrc::path {

Rotation::Rotation(std::size_t n, PassOrder order, std::uint64_t seed) : n_(n), order_(order), rng_(seed) {
  assert(n > 0 && n <= kMaxEvs && (order != PassOrder::kXor || std::has_single_bit(n)));
  if (order_ == PassOrder::kShuffled) {
    list_.resize(n_);
    std::iota(list_.begin(), list_.end(), EvIndex{0});
  }
  xor_ = rng_.next();
}

EvIndex Rotation::next() {
  if (pos_ == n_) {
    pos_ = 0;
    xor_ = rng_.next();
  }
  const std::size_t i = pos_++;
  switch (order_) {
    case PassOrder::kFixed:
      return static_cast<EvIndex>(i);
    case PassOrder::kXor:
      return static_cast<EvIndex>((i ^ xor_) & (n_ - 1));
    case PassOrder::kShuffled:
      break;
  }
  std::swap(list_[i], list_[i + rng_.below(n_ - i)]);
  return list_[i];
}

CongestionBitmap::CongestionBitmap(std::size_t n, PassOrder order, std::uint64_t seed)
    : rotation_(n, order, seed), marked_(n, 0) {}

EvIndex CongestionBitmap::next(Time) {
  for (;;) {
    const EvIndex ev = rotation_.next();
    if (marked_[ev] == 0) return ev;
    const bool saturated = marks_ > marked_.size() / 2;
    marked_[ev] = 0;
    --marks_;
    if (saturated) return ev;
  }
}

// A silent loss rests the EV like a mark; the text names ECN and trims only.
void CongestionBitmap::feedback(EvIndex ev, PathFeedback what, Time) {
  assert(ev < marked_.size());
  if (what == PathFeedback::kGood) return;
  marks_ += marked_[ev] == 0 ? 1 : 0;
  marked_[ev] = 1;
}

PenaltyScore::PenaltyScore(std::size_t n, PassOrder order, std::uint64_t seed)
    : rotation_(n, order, seed), score_(n, 0) {}

EvIndex PenaltyScore::next(Time) {
  EvIndex ev = rotation_.next();
  for (std::size_t skips = 0; score_[ev] > 0 && skips <= score_.size(); ++skips) {
    if (skips == 0) --score_[ev];
    ev = rotation_.next();
  }
  return ev;
}

void PenaltyScore::feedback(EvIndex ev, PathFeedback what, Time) {
  assert(ev < score_.size());
  constexpr int kMaxScore = 15;
  constexpr int kPoints[] = {0, 1, 4, kMaxScore};
  score_[ev] = static_cast<std::uint8_t>(std::min(kMaxScore, score_[ev] + kPoints[static_cast<int>(what)]));
}

EvIndex Reps::next(Time) {
  const auto random = [this] { return static_cast<EvIndex>(rng_.below(n_)); };
  if (explore_ > 0) {
    --explore_;
    return random();
  }
  if (fresh_ > 0) {
    Slot& slot = ring_[(write_ + kRing - fresh_) % kRing];
    --fresh_;
    slot.fresh = false;
    return slot.ev;
  }
  if (!frozen_ || stored_ == 0) return random();
  const Slot& slot = ring_[(write_ + kRing - stored_ + replay_) % kRing];
  replay_ = (replay_ + 1) % stored_;
  return slot.ev;
}

void Reps::store(EvIndex ev) {
  Slot& slot = ring_[write_];
  fresh_ += slot.fresh ? 0 : 1;
  slot = {ev, true};
  write_ = (write_ + 1) % kRing;
  stored_ = std::min(stored_ + 1, kRing);
}

void Reps::feedback(EvIndex ev, PathFeedback what, Time now) {
  assert(ev < n_);
  if (what == PathFeedback::kTimeout && !frozen_ && explore_ == 0) {
    frozen_ = true;
    thaw_ = now + config_.freeze;
    replay_ = 0;
  }
  if (what != PathFeedback::kGood) return;
  if (frozen_ && now > thaw_) {
    frozen_ = false;
    explore_ = config_.explore_pkts;
    std::fill(std::begin(ring_), std::end(ring_), Slot{});
    write_ = stored_ = fresh_ = 0;
  }
  store(ev);
}

Result<Policy> Policy::create(std::string_view name, std::size_t n, std::uint64_t seed, PassOrder order) {
  const std::string count = std::to_string(n);
  if (n < 1 || n > kMaxEvs)
    return Error{"selection policy: " + count + " EVs; it takes 1 to " + std::to_string(kMaxEvs)};
  if (order == PassOrder::kXor && !std::has_single_bit(n))
    return Error{"selection policy: " + count + " EVs; the XOR order needs a power of two: use " +
                 std::to_string(std::bit_floor(n)) + " or the shuffled order"};
  if (name == "oblivious") return Policy(Oblivious(n, order, seed));
  if (name == "bitmap") return Policy(CongestionBitmap(n, order, seed));
  if (name == "score") return Policy(PenaltyScore(n, order, seed));
  if (name == "reps") return Policy(Reps(n, {}, seed));
  if (name == "single") return Policy(SinglePath(n, seed));
  return Error{"selection policy \"" + std::string(name) +
               "\" is unknown: use oblivious, bitmap, score, reps or single"};
}

}  // namespace mrc::path
