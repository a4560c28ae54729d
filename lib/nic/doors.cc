// SPDX-License-Identifier: BSD-3-Clause
// Posts and completions of application threads, over their queues.
#include <array>

#include "nic/core.h"

namespace mrc::nic {
namespace {

/// A post that the worker had to refuse comes back with an error: every accepted post completes once (D17).
transport::WcStatus status_of(PostStatus s) {
  switch (s) {
    case PostStatus::kBadLkey:
    case PostStatus::kTooLong:
      return transport::WcStatus::kLocLenErr;
    default:
      return transport::WcStatus::kWrFlushErr;
  }
}

void push_completions(AppDoor& door) {
  const std::span<const QpCompletion> held{&door.completions[door.completion_at], door.completions_held};
  const std::size_t n = door.queue->completions().push(held);
  door.completion_at += n;
  door.completions_held -= n;
  if (door.completions_held == 0) door.completion_at = 0;
}

bool hold_completion(AppDoor& door, const QpCompletion& c) {
  if (door.completions_held != 0) push_completions(door);
  if (door.completion_at + door.completions_held == door.completions.size()) return false;
  door.completions[door.completion_at + door.completions_held++] = c;
  return true;
}

/// False: try this post again later (send queue full, or no room to report a refusal).
bool take_post(Worker& face, AppDoor& door, const AppPost& post) {
  const PostStatus s = post.kind == AppPost::Kind::kSend
                           ? face.post_send(post.qpn, post.lkey, post.wr)
                           : face.post_recv(post.qpn, transport::RecvRequest{post.wr.wr_id});
  if (s == PostStatus::kOk) return true;
  if (s == PostStatus::kQueueFull) return false;
  QpCompletion c;
  c.qpn = post.qpn;
  c.wc.wr_id = post.wr.wr_id;
  c.wc.status = status_of(s);
  c.wc.opcode = post.kind == AppPost::Kind::kSend ? transport::WcOpcode::kRdmaWrite
                                                  : transport::WcOpcode::kRecvRdmaWithImm;
  return hold_completion(door, c);
}

}  // namespace

void take_posts(WorkerCore& w) {
  Worker& face = w.nic.faces[w.index];
  for (const auto& door : w.doors) {
    if (door->posts_held == 0) {
      door->post_at = 0;
      door->posts_held = door->queue->posts().pop(door->posts);
    }
    while (door->posts_held != 0 && take_post(face, *door, door->posts[door->post_at])) {
      ++door->post_at;
      --door->posts_held;
    }
  }
}

void deliver_completions(WorkerCore& w) {
  for (const auto& door : w.doors) {
    if (door->completions_held != 0) push_completions(*door);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < w.completion.size(); ++i) {
    QpHome& home = *w.slots[w.completion[i]];
    AppDoor& door = *w.doors[home.app->door()];
    bool more = door.completions_held != 0;  // the application is slow: the rest stays in the QP
    while (!more) {
      std::array<transport::Completion, kBurst> some;
      const std::size_t n = home.qp.poll_completions(some);
      for (std::size_t c = 0; c < n; ++c) door.completions[c] = {home.qpn, some[c]};
      door.completion_at = 0;
      door.completions_held = n;
      if (n == 0) break;
      push_completions(door);
      more = door.completions_held != 0;
    }
    home.in_completion = more;
    if (more) w.completion[kept++] = w.completion[i];
  }
  w.completion.resize(kept);
}

}  // namespace mrc::nic
