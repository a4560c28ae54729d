// SPDX-License-Identifier: BSD-3-Clause
// The run itself: traffic, the two mishaps, and what was measured.
#include "demo.h"

#include <fmt/format.h>

#include <algorithm>

#include "demo_checks.h"
#include "demo_world.h"
#include "flow.h"

namespace mrc::endpoint {
namespace {

constexpr std::uint64_t kMessageBytes = 1ULL << 20;
constexpr std::uint32_t kSlots = 16;
constexpr std::uint32_t kDepth = 12;
constexpr std::uint64_t kCheckBudgetBytes = 128ULL << 10;  ///< a round, so that no poll waits long
constexpr Duration kNoProgress = seconds(10);
/// Longest that data is moved beyond what was asked for, until the story of the path is told.
constexpr Duration kMostEpilogue = seconds(10);

/// Posts messages and checks what arrived, a piece a round.
class Traffic {
 public:
  Traffic(DemoWorld& world, const DemoOptions& o)
      : world_(world),
        forget_(o.forget_message),
        asked_((o.bytes + kMessageBytes - 1) / kMessageBytes),
        send_(plan_of(o)),
        receive_(send_.plan(), world.target()) {
    receive_.prepare_some(~0ULL);
  }

  /// `go_on`: also when all that was asked for is posted. Errors: a completion that is not success, a post
  /// that is refused for good.
  Result<void> step(bool go_on) {
    transport::Completion wc[16];
    const std::size_t n = world_.worker(0).poll_cq(world_.qpn(0), wc);
    for (std::size_t i = 0; i < n; ++i) {
      if (wc[i].status != transport::WcStatus::kSuccess) {
        return Error{
            fmt::format("message {} ended with status {}", wc[i].wr_id, static_cast<int>(wc[i].status))};
      }
      if (static_cast<std::int64_t>(send_.completed()) == forget_) forget(send_.completed());
      latency_.record(static_cast<std::uint64_t>((world_.now() - posted_at_[wc[i].wr_id % kSlots]).ns));
      send_.on_completed();
    }
    if (n != 0) receive_.announce(send_.completed());
    receive_.check_some(kCheckBudgetBytes);
    send_.on_released(receive_.released());
    if (send_.posted() >= asked_ && !go_on) send_.stop();
    return send_.may_post() ? post() : Result<void>{};
  }

  /// No more posts; what is posted is still completed and checked.
  void stop() { send_.stop(); }
  [[nodiscard]] bool done() const { return send_.done() && receive_.idle(); }
  [[nodiscard]] std::uint64_t posted_bytes() const { return send_.posted() * kMessageBytes; }
  [[nodiscard]] const ReceiveFlow& received() const { return receive_; }
  [[nodiscard]] const report::Histogram& latency() const { return latency_; }
  [[nodiscard]] std::uint64_t completed() const { return send_.completed(); }
  /// Of what was asked for, at most 1.
  [[nodiscard]] double progress() const {
    return std::min(1.0, static_cast<double>(send_.completed()) / static_cast<double>(asked_));
  }

 private:
  static FlowPlan plan_of(const DemoOptions& o) {
    FlowPlan p;
    p.key.seed = o.seed;
    p.size_bytes = p.stride_bytes = kMessageBytes;
    p.slots = kSlots;
    p.depth = kDepth;
    return p;
  }

  Result<void> post() {
    const std::uint64_t message = send_.post();
    posted_at_[message % kSlots] = world_.now();
    const std::uint64_t offset = send_.slot_offset(message);
    PatternKey key = send_.plan().key;
    key.message = message;
    fill_pattern(key, 0, world_.source() + offset, kMessageBytes);
    transport::WorkRequest wr;
    wr.wr_id = message;
    wr.length_bytes = kMessageBytes;
    wr.rkey = world_.target_keys().rkey;
    wr.local = reinterpret_cast<std::uintptr_t>(world_.source() + offset);
    wr.remote_va = reinterpret_cast<std::uintptr_t>(world_.target() + offset);
    const nic::PostStatus s = world_.worker(0).post_send(world_.qpn(0), world_.source_keys().lkey, wr);
    if (s == nic::PostStatus::kOk) return {};
    send_.unpost();
    if (s == nic::PostStatus::kQueueFull) return {};
    return Error{fmt::format("message {} was refused with status {}", message, static_cast<int>(s))};
  }

  /// As if one packet of it had never been placed.
  void forget(std::uint64_t message) {
    PatternKey key = send_.plan().key;
    key.message = message;
    fill_poison(key, kMessageBytes / 2, world_.target() + send_.slot_offset(message) + kMessageBytes / 2,
                4096);
  }

  DemoWorld& world_;
  const std::int64_t forget_;
  const std::uint64_t asked_;  ///< messages
  SendFlow send_;
  ReceiveFlow receive_;
  std::array<Time, kSlots> posted_at_{};
  report::Histogram latency_;
};

/// Where a report's samples come from: both ends and the network are here.
LiveSource source_of(DemoWorld& world, const DemoOptions& o) {
  LiveSource s;
  s.nic = &world.nic(0);
  s.qpns = {world.qpn(0)};
  s.receiver = &world.nic(1);
  s.receiver_qpns = {world.qpn(1)};
  s.evs = std::make_shared<const path::EvTable>(world.evs());
  s.path_of = [evs = s.evs, paths = o.paths](path::EvIndex ev) { return (*evs)[ev].udp_sport % paths; };
  s.fabric = &world.net().fabric();
  return s;
}

void mark_story(const DemoReport& r, LiveSampler& samples) {
  const DeathStory& d = r.death;
  const std::pair<Time, std::string> all[] = {
      {d.down, fmt::format("path {} of plane {} dies", r.dead_path, r.dead_plane)},
      {d.detected, "none of its EVs is used any more"},
      {d.repaired, "all that was lost on it is acknowledged"},
      {d.up, "the path is back"},
      {d.data_again, "data on it again"}};
  for (const auto& [at, text] : all)
    if (at.ns != 0) samples.mark(at, text);
}

/// The path of a plane that most EVs take.
std::uint32_t busiest_path(const DemoWorld& world, std::uint32_t plane, std::uint32_t paths) {
  std::uint32_t best = 0;
  for (std::uint32_t p = 1; p < paths; ++p) {
    if (world.evs_on(plane, p).size() > world.evs_on(plane, best).size()) best = p;
  }
  return best;
}

/// A quarter of the data before the death, which comes while data is on the path. It stays dead until its
/// death was noticed and probed, and a good while longer; then it returns, and the run ends only when data
/// was seen on it again. How much data that takes depends on the machine: what waits for something waits
/// until it is there.
class Director {
 public:
  Director(StoryTeller& story, const DemoOptions& o) : story_(story), options_(o) {}

  void step(double progress, const transport::Qp& sender, const transport::Qp& receiver, Time now) {
    story_.step(sender, receiver, now);
    if (progress >= 1 && all_moved_.is_never()) all_moved_ = now;
    if (!killed_ && progress >= 0.25 && story_.data_under_way(options_.delay / 2, now)) {
      killed_ = true;
      story_.take_down();
      if (options_.spare_path) story_.bring_up();
    }
    const bool seen_enough = story_.detected() && story_.repaired() && story_.probed() && progress >= 0.5 &&
                             now - story_.down_at() > options_.delay * 2 * 40;
    if (killed_ && !revived_ && (options_.spare_path || seen_enough || patience_ends(now))) {
      revived_ = true;
      story_.bring_up();
    }
  }
  /// There is something left to be seen.
  [[nodiscard]] bool untold(Time now) const { return !story_.data_again() && !patience_ends(now); }

 private:
  [[nodiscard]] bool patience_ends(Time now) const {
    return !all_moved_.is_never() && now - all_moved_ > kMostEpilogue;
  }

  StoryTeller& story_;
  const DemoOptions& options_;
  bool killed_ = false;
  bool revived_ = false;
  Time all_moved_ = Time::never();
};

/// True: it was interrupted.
Result<bool> move_all(DemoWorld& world, Traffic& traffic, Director& director, const DemoOptions& o,
                      LiveSampler* samples) {
  bool interrupted = false;
  std::uint64_t last_completed = 0;
  Time moved_at = world.now();
  while (!traffic.done()) {
    if (!interrupted && o.stop && o.stop(traffic.progress())) {
      interrupted = true;
      traffic.stop();
    }
    if (auto r = traffic.step(director.untold(world.now())); !r) return r.error();
    world.poll();
    const Time now = world.now();
    director.step(traffic.progress(), *world.worker(0).qp(world.qpn(0)), *world.worker(1).qp(world.qpn(1)),
                  now);
    if (samples != nullptr) samples->poll(now, &traffic.latency());
    if (traffic.completed() != last_completed) {
      last_completed = traffic.completed();
      moved_at = now;
    } else if (now - moved_at > kNoProgress) {
      return Error{fmt::format("no message was completed for {} s", kNoProgress.ns / 1'000'000'000)};
    }
  }
  return interrupted;
}

}  // namespace

Result<DemoReport> run_demo(const DemoOptions& o) {
  DemoWorldConfig wc;
  wc.seed = o.seed;
  wc.planes = o.planes;
  wc.paths = o.paths;
  wc.delay = o.delay;
  wc.poll_step = o.poll_step;
  wc.path_gbps = o.path_gbps;
  wc.cc = o.cc;
  wc.memory_bytes = kMessageBytes * kSlots;
  auto made = DemoWorld::create(wc);
  if (!made) return made.error();
  DemoWorld& world = **made;

  DemoReport r;
  r.options = o;
  r.base_rtt = o.delay * 2;
  r.dead_plane = o.planes > 1 ? 1 : 0;
  r.lossy_plane = o.planes > 2 ? 2 : 0;
  r.dead_path = busiest_path(world, r.dead_plane, o.paths);
  r.lossy_path = busiest_path(world, r.lossy_plane, o.paths);
  if (r.lossy_plane == r.dead_plane && r.lossy_path == r.dead_path)
    r.lossy_path = (r.lossy_path + 1) % o.paths;
  world.net().set_path_loss(r.lossy_plane, r.lossy_path, o.loss);
  StoryTeller story(world.net(), r.dead_plane, r.dead_path, world.evs_on(r.dead_plane, r.dead_path));

  Traffic traffic(world, o);
  Director director(story, o);
  if (o.sample) {
    r.samples = std::make_shared<LiveSampler>();
    r.samples->begin(source_of(world, o), world.now());
  }
  const Time start = world.now();
  auto interrupted = move_all(world, traffic, director, o, r.samples.get());
  if (!interrupted) return interrupted.error();
  r.interrupted = *interrupted;
  r.bytes_posted = traffic.posted_bytes();
  r.seconds = static_cast<double>((world.now() - start).ns) * 1e-9;
  r.bytes_verified = traffic.received().bytes_checked();
  r.messages_bad = traffic.received().bad();
  r.first_bad = traffic.received().first_bad();
  r.death = story.story();
  r.longest_absence = story.longest_absence();
  r.absent = story.absent();
  if (r.samples) {
    r.samples->end_phase(world.now(), traffic.latency());
    mark_story(r, *r.samples);
  }
  if (auto measured = measure(world, r); !measured) return measured.error();
  return r;
}

}  // namespace mrc::endpoint
