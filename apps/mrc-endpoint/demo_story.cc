// SPDX-License-Identifier: BSD-3-Clause
#include "demo_story.h"

#include <algorithm>

namespace mrc::endpoint {

using fabric::Kind;
using virt::Observation;

StoryTeller::StoryTeller(virt::VirtualFabric& net, std::uint32_t plane, std::uint32_t path,
                         std::vector<path::EvIndex> evs)
    : net_(net), plane_(plane), path_(path), evs_(std::move(evs)) {
  net_.watch_path(plane_, path_);
}

void StoryTeller::take_down() {
  net_.set_path_up(plane_, path_, false);
}

void StoryTeller::bring_up() {
  net_.set_path_up(plane_, path_, true);
}

void StoryTeller::note_drop(const Observation& o) {
  const bool data = o.kind == Kind::kData || o.kind == Kind::kRetransmission;
  if (data) {
    const Psn psn{o.psn};
    if (!lost_any_ || psn.after(last_lost_)) last_lost_ = psn;
    lost_any_ = true;
    story_.repaired = Time{};  // one more to wait for
    ++story_.data_lost;
  }
  if (story_.detected.ns == 0 || o.at <= story_.detected) return;
  if (data) ++story_.data_after_detection;
  if (o.kind == Kind::kProbe) ++story_.probes_after_detection;
  if (o.kind == Kind::kControl) ++story_.control_after_detection;
}

void StoryTeller::note(const Observation& o) {
  switch (o.what) {
    case Observation::What::kDown:
      story_.down = o.at;
      break;
    case Observation::What::kUp:
      story_.up = o.at;
      break;
    case Observation::What::kDropped:
      note_drop(o);
      break;
    case Observation::What::kFirstEntered: {
      const bool data = o.kind == Kind::kData || o.kind == Kind::kRetransmission;
      if (data && story_.up.ns != 0 && story_.data_again.ns == 0) story_.data_again = o.at;
      break;
    }
  }
}

// Data of the sender, or answers of the receiver: its reverse EV of that plane (D19).
bool StoryTeller::used_by(const transport::Qp& sender, const transport::Qp& receiver) const {
  const auto usable = [&](path::EvIndex ev) {
    const path::EvState s = sender.ev_set().state(ev);
    return s == path::EvState::kGood || s == path::EvState::kSkip;
  };
  const auto plane = static_cast<std::uint8_t>(plane_);
  const path::EvChoice answers = receiver.ev_set().choose_for_control(1U << plane_, plane);
  return std::any_of(evs_.begin(), evs_.end(), usable) ||
         std::find(evs_.begin(), evs_.end(), answers.ev) != evs_.end();
}

void StoryTeller::step(const transport::Qp& sender, const transport::Qp& receiver, Time now) {
  Observation batch[64];
  for (std::size_t n = std::size(batch); n == std::size(batch);) {
    n = net_.take_observations(batch);
    for (std::size_t i = 0; i < n; ++i) note(batch[i]);
  }
  const bool dead = story_.down.ns != 0 && story_.up.ns == 0;
  if (dead && !repaired() && last_step_.ns != 0) {
    longest_absence_ = std::max(longest_absence_, now - last_step_);
    if (now - last_step_ > kAbsence) absent_ += now - last_step_;
  }
  last_step_ = now;
  if (dead && story_.detected.ns == 0 && !used_by(sender, receiver)) story_.detected = now;
  // The cumulative acknowledgment has reached it: it and everything before it is in the peer's memory.
  if (lost_any_ && story_.repaired.ns == 0 && sender.unack_psn().at_or_after(last_lost_))
    story_.repaired = now;
}

bool StoryTeller::data_under_way(Duration age, Time now) const {
  virt::WatchTotals totals;
  if (!net_.watch_totals(plane_, path_, totals)) return false;
  const Time last = totals.kinds[static_cast<std::size_t>(Kind::kData)].last_entered;
  return last.ns != 0 && now - last <= age;
}

DeathStory StoryTeller::story() const {
  DeathStory s = story_;
  virt::WatchTotals totals;
  if (net_.watch_totals(plane_, path_, totals)) s.observations_lost = totals.observations_lost;
  return s;
}

}  // namespace mrc::endpoint
