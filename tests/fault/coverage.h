// SPDX-License-Identifier: BSD-3-Clause
// What the runs met. A suite that never saw a kind of trouble says nothing about it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace mrc::fault {

/// Occurrences by name; names come from the code that counts, so that none is forgotten in a list.
class Coverage {
 public:
  void add(const std::string& what, std::uint64_t times = 1) { counts_[what] += times; }
  Coverage& operator+=(const Coverage& other) {
    for (const auto& [what, times] : other.counts_) counts_[what] += times;
    return *this;
  }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }

 private:
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace mrc::fault
