// SPDX-License-Identifier: BSD-3-Clause
// What the runs met. A suite that never saw a kind of trouble says nothing about it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mrc::fault {

/// Occurrences by name, and in how many runs; a name counted 0 times stays in the list. The names come from
/// the code that counts, so that none is forgotten.
class Coverage {
 public:
  struct Count {
    std::uint64_t times = 0;
    std::uint64_t runs = 0;
  };
  /// Within one run: each name at most once.
  void add(const std::string& what, std::uint64_t times) { add(what, {times, times != 0 ? 1U : 0U}); }
  void add(const std::string& what, Count more) {
    Count& count = counts_[what];
    count.times += more.times;
    count.runs += more.runs;
  }
  Coverage& operator+=(const Coverage& other) {
    for (const auto& [what, count] : other.counts_) add(what, count);
    return *this;
  }
  void clear() { counts_.clear(); }
  [[nodiscard]] const std::map<std::string, Count>& counts() const { return counts_; }

 private:
  std::map<std::string, Count> counts_;
};

}  // namespace mrc::fault
