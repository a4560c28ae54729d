// SPDX-License-Identifier: BSD-3-Clause
// Errors of one file, collected so that a user mends them in one go; and the nearest-name search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mrc::config {

/// Collects "file:line: key: what" lines, at most kMaxReported of them; the rest is counted.
class Diagnostics {
 public:
  static constexpr std::size_t kMaxReported = 20;

  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  void add(std::uint32_t line, std::string_view path, std::string_view what);
  [[nodiscard]] bool ok() const { return count_ == 0; }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// All lines joined; only when !ok().
  [[nodiscard]] Error error() const;

 private:
  std::string file_;
  std::vector<std::string> lines_;
  std::size_t count_ = 0;
};

/// Edits (insert, delete, replace, swap of neighbours) from a to b, case ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word` when it is near enough to be a typing error, else empty.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean 'x'?" or "; known: a, b, c".
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace mrc::config
