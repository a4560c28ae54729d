// SPDX-License-Identifier: BSD-3-Clause
// What happened in a run, as a hash for comparing runs (I8) and, on demand, as text for people.
#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <utility>

#include "base/rng.h"
#include "base/time.h"

namespace mrc::property {

/// Events carry relative numbers only (time since start, PSN since the first one), so that a shifted run has
/// the same trace.
class Trace {
 public:
  using Field = std::pair<const char*, std::int64_t>;

  explicit Trace(std::FILE* sink = nullptr) : sink_(sink) {}

  void event(Duration at, int side, const char* what, std::initializer_list<Field> fields) {
    std::uint64_t h = mix64(hash_ ^ static_cast<std::uint64_t>(at.ns)) + static_cast<std::uint64_t>(what[0]);
    for (const Field& f : fields) h = (h ^ static_cast<std::uint64_t>(f.second)) * 0x100000001B3ULL + 1;
    hash_ = h;
    ++events_;
    if (sink_ != nullptr) print(at, side, what, fields);
  }

  /// For people only; no part of the hash.
  void note(const char* text) {
    if (sink_ != nullptr) std::fprintf(sink_, "# %s\n", text);
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  void print(Duration at, int side, const char* what, std::initializer_list<Field> fields) {
    std::fprintf(sink_, "%12.3f us  %c  %-8s", static_cast<double>(at.ns) / 1000.0, side == 0 ? 'A' : 'B',
                 what);
    for (const Field& f : fields) std::fprintf(sink_, " %s=%lld", f.first, static_cast<long long>(f.second));
    std::fputc('\n', sink_);
  }

  std::FILE* sink_;
  std::uint64_t hash_ = 0x6D7263ULL;
  std::uint64_t events_ = 0;
};

}  // namespace mrc::property
