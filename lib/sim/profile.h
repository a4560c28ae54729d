// SPDX-License-Identifier: BSD-3-Clause
// Where the time of a run goes. The host brings the clock: nothing here knows one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mrc::sim {

enum class Stage : std::uint8_t {
  kFabric,     ///< links, queues, switches
  kTransport,  ///< the QPs
  kHosts,      ///< the loop: lists of QPs, ports, timers, completions
  kPayload,    ///< made from its address, checked where it arrives
  kChecks,     ///< the invariants and their models
  kMeasuring,  ///< depths of queues, samples
};
inline constexpr std::size_t kStages = 6;
inline constexpr std::array<const char*, kStages> kStageNames{"fabric",  "transport", "hosts",
                                                              "payload", "checks",    "measuring"};

/// Ticks by stage. Thread rule: one owner.
class Profile {
 public:
  using Clock = std::uint64_t (*)();
  explicit Profile(Clock clock) : clock_(clock), since_(clock()) {}

  /// From now on it is `stage`; returns what it was.
  Stage enter(Stage stage) {
    const std::uint64_t now = clock_();
    ticks_[static_cast<std::size_t>(stage_)] += now - std::exchange(since_, now);
    return std::exchange(stage_, stage);
  }
  [[nodiscard]] std::uint64_t ticks(Stage stage) const { return ticks_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] std::uint64_t total() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t t : ticks_) sum += t;
    return sum;
  }

 private:
  Clock clock_;
  Stage stage_ = Stage::kHosts;
  std::uint64_t since_;
  std::array<std::uint64_t, kStages> ticks_{};
};

/// While it lives it is `stage`. Without a profile it costs a branch.
class InStage {
 public:
  InStage(Profile* profile, Stage stage)
      : profile_(profile), before_(profile != nullptr ? profile->enter(stage) : stage) {}
  ~InStage() {
    if (profile_ != nullptr) profile_->enter(before_);
  }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

 private:
  Profile* profile_;
  Stage before_;
};

}  // namespace mrc::sim
