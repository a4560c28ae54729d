// SPDX-License-Identifier: BSD-3-Clause
// A packet on its way in virtual time: the descriptor instead of bytes. The fabric moves the token's number.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "transport/types.h"

namespace mrc::sim {

using TokenId = std::uint32_t;

struct Token {
  std::uint32_t to_qp = 0;  ///< index of the receiving QP
  Time sent;
  std::uint32_t copies = 0;  ///< the fabric may have duplicated the packet; 0: free
  bool is_data = false;
  std::uint64_t payload_word = 0;  ///< stands for the payload: a function of the source address
  transport::TxDesc data;
  transport::ControlDesc control;
};

/// Tokens by number. Grows to the largest number in flight and is reused from then on.
class TokenPool {
 public:
  TokenId acquire() {
    if (free_.empty()) {
      tokens_.emplace_back();
      free_.push_back(static_cast<TokenId>(tokens_.size() - 1));
    }
    const TokenId id = free_.back();
    free_.pop_back();
    tokens_[id].copies = 1;
    ++in_use_;
    return id;
  }
  /// `last` is false while the fabric still holds a duplicate of the same handle.
  void release(TokenId id) {
    assert(tokens_[id].copies > 0);
    tokens_[id].copies = 0;
    free_.push_back(id);
    --in_use_;
  }
  Token& operator[](TokenId id) { return tokens_[id]; }
  [[nodiscard]] std::size_t in_use() const { return in_use_; }
  [[nodiscard]] std::size_t data_in_use() const {
    return static_cast<std::size_t>(std::count_if(tokens_.begin(), tokens_.end(),
                                                  [](const Token& t) { return t.copies != 0 && t.is_data; }));
  }

 private:
  std::vector<Token> tokens_;
  std::vector<TokenId> free_;
  std::size_t in_use_ = 0;
};

}  // namespace mrc::sim
