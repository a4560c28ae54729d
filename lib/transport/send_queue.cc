// SPDX-License-Identifier: BSD-3-Clause
#include "transport/send_queue.h"

#include "base/seeded_defect.h"

namespace mrc::transport {

const SendWr& SendQueue::holding(Seq seq, bool begun) const {
  std::uint64_t lo = completed_;
  std::uint64_t hi = begun ? current_ + 1 : current_;  // search [lo, hi) for the last with first <= seq
  assert(lo < hi && (*this)[lo].first <= seq);
  while (hi - lo > 1) {
    const std::uint64_t mid = lo + (hi - lo) / 2;
    if ((*this)[mid].first <= seq) {
      lo = mid;
    } else {
      hi = mid;
    }
  }
  assert(seq <= (*this)[lo].last());
  return (*this)[lo];
}

std::size_t SendQueue::reading(std::uint64_t begin, std::uint64_t bytes) const {
  std::size_t n = 0;
  for (std::uint64_t i = completed_; i != posted_; ++i) {
    const WorkRequest& wr = (*this)[i].wr;
    const bool apart = wr.local >= begin + bytes || wr.local + wr.length_bytes <= begin;
    n += apart || wr.length_bytes == 0 ? 0 : 1;
  }
  return n;
}

bool SendQueue::poll(Completion& out) {
  if (polled_ == completed_) return false;
  const SendWr& wr = (*this)[polled_];
  out.wr_id = wr.wr.wr_id;
  out.opcode = WcOpcode::kRdmaWrite;
  out.solicited = false;
  out.byte_len = wr.wr.length_bytes;
  out.immdt = 0;
  out.status = polled_ < failed_at_    ? WcStatus::kSuccess
               : polled_ == failed_at_ ? fail_status_
                                       : WcStatus::kWrFlushErr;
  polled_ += seeded_defect(Defect::kCompleteTwice) ? 0 : 1;
  return true;
}

void SendQueue::reset() {
  polled_ = completed_ = current_ = posted_ = 0;
  failed_at_ = kNever;
  fail_status_ = WcStatus::kSuccess;
}

}  // namespace mrc::transport
