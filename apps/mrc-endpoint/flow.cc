// SPDX-License-Identifier: BSD-3-Clause
#include "flow.h"

#include <algorithm>

namespace mrc::endpoint {
namespace {

constexpr std::uint64_t kChunkBytes = 16384;  // stays in the first-level cache between check and poison

constexpr std::uint64_t kPerMessage = 64;  // so that empty messages use budget too

PatternKey key_of(const FlowPlan& plan, std::uint64_t message) {
  PatternKey key = plan.key;
  key.message = message;
  return key;
}

}  // namespace

std::uint64_t ReceiveFlow::prepare_some(std::uint64_t budget_bytes) {
  std::uint64_t done = 0;
  while (!prepared() && done < budget_bytes) {
    const std::uint64_t n = std::min(plan_.size_bytes - prepared_offset_, kChunkBytes);
    fill_poison(key_of(plan_, prepared_slots_), prepared_offset_,
                target_ + prepared_slots_ * plan_.stride_bytes + prepared_offset_, n);
    prepared_offset_ += n;
    done += std::max<std::uint64_t>(n, kPerMessage);
    if (prepared_offset_ < plan_.size_bytes) continue;
    ++prepared_slots_;
    prepared_offset_ = 0;
  }
  return done;
}

bool ReceiveFlow::announce(std::uint64_t total) {
  if (total < announced_ || total - released_ > plan_.slots) return false;
  announced_ = total;
  if (!plan_.verify) released_ = total;
  return true;
}

void ReceiveFlow::check_chunk(std::uint64_t offset, std::uint64_t n) {
  const PatternKey key = key_of(plan_, released_);
  unsigned char* at = target_ + (released_ % plan_.slots) * plan_.stride_bytes + offset;
  if (!message_bad_) {
    if (const auto mismatch = check_pattern(key, offset, at, n)) {
      message_bad_ = true;
      if (first_bad_.empty()) first_bad_ = describe(key, *mismatch);
    }
  }
  fill_poison(key_of(plan_, released_ + plan_.slots), offset, at, n);
  bytes_checked_ += n;
}

std::uint64_t ReceiveFlow::check_some(std::uint64_t budget_bytes) {
  std::uint64_t done = 0;
  while (released_ < announced_ && done < budget_bytes) {
    const std::uint64_t n = std::min(plan_.size_bytes - offset_, kChunkBytes);
    if (n != 0) check_chunk(offset_, n);
    offset_ += n;
    done += n;
    if (offset_ == plan_.size_bytes) {
      bad_ += message_bad_ ? 1 : 0;
      message_bad_ = false;
      offset_ = 0;
      ++released_;
      done += kPerMessage;
    }
  }
  return done;
}

}  // namespace mrc::endpoint
