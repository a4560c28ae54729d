// SPDX-License-Identifier: BSD-3-Clause
// A connection matrix: who sends how much to whom, when or after what. The one form of every workload; files
// use the `.cm` syntax of htsim so that the same matrix runs there.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "base/time.h"

namespace mrc::sim {

inline constexpr std::uint32_t kMaxConnections = 1U << 22;
inline constexpr std::size_t kMaxMatrixBytes = 1U << 28;  ///< of a file
inline constexpr std::size_t kMaxMatrixLineBytes = 4096;
inline constexpr std::uint32_t kNoTrigger = 0;  ///< trigger ids count from 1

struct Connection {
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
  std::uint32_t id = 0;  ///< flow id, from 1; 0 where the file gives none
  std::uint64_t size_bytes = 0;
  Duration start{};                              ///< ignored with a trigger
  std::uint32_t trigger = kNoTrigger;            ///< starts when this fires
  std::uint32_t send_done_trigger = kNoTrigger;  ///< counts when the sender knows it is acknowledged
  std::uint32_t recv_done_trigger = kNoTrigger;  ///< counts when the receiver has it all
};

enum class TriggerType : std::uint8_t { kOneshot, kMultishot, kBarrier };

/// Oneshot fires at its first count and then no more, multishot at each, barrier at the count-th.
struct Trigger {
  std::uint32_t id = 0;
  TriggerType type = TriggerType::kOneshot;
  std::uint32_t count = 1;
};

struct Matrix {
  std::uint32_t nodes = 0;
  std::vector<Connection> connections;
  std::vector<Trigger> triggers;

  /// Bytes to send, all connections.
  [[nodiscard]] std::uint64_t total_bytes() const;
};

/// Reads `.cm` text of at most kMaxMatrixBytes. Errors, printable, name the line: bad words, nodes out of
/// range, what stands twice, wrong counts, unknown triggers, lines longer than kMaxMatrixLineBytes.
Result<Matrix> parse_matrix(std::string_view text, const std::string& name);
/// Writes what parse_matrix reads.
void write_matrix(std::ostream& out, const Matrix& matrix);

// Workloads. Sizes in bytes; all start at 0 unless chained.
Matrix make_point_to_point(std::uint32_t nodes, std::uint32_t src, std::uint32_t dst, std::uint64_t bytes);
/// Every node sends to one other and receives from one other: a permutation without fixed points (Sattolo).
Matrix make_permutation(std::uint32_t nodes, std::uint64_t bytes, Rng& rng);
/// `senders` distinct nodes other than `receiver` send to it.
Matrix make_incast(std::uint32_t nodes, std::uint32_t receiver, std::uint32_t senders, std::uint64_t bytes);
/// Ring all-reduce of `bytes` a node: 2 (n - 1) steps, each node passes a chunk on when it has received one.
Matrix make_ring_all_reduce(std::uint32_t nodes, std::uint64_t bytes);
/// Every node sends `bytes` to every other, in n - 1 rotated rounds started at once.
Matrix make_all_to_all(std::uint32_t nodes, std::uint64_t bytes);
/// `count` flows between random pairs at random times within `span`: a share `elephants` of them large.
Matrix make_mix(std::uint32_t nodes, std::uint32_t count, double elephants, std::uint64_t elephant_bytes,
                std::uint64_t mouse_bytes, Duration span, Rng& rng);

}  // namespace mrc::sim
