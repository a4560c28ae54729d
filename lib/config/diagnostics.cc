// SPDX-License-Identifier: BSD-3-Clause
#include "config/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/printable.h"
#include "config/yaml_tree.h"

namespace mrc::config {

void Diagnostics::add(std::uint32_t line, std::string_view path, std::string_view what) {
  ++count_;
  if (lines_.size() >= kMaxReported) return;
  const std::string where = line == kCommandLine ? "command line"
                            : line == 0          ? file_
                                                 : fmt::format("{}:{}", file_, line);
  // Keys and values are the file's words; a newline in them must not pass for a line of ours.
  lines_.push_back(printable(path.empty() ? fmt::format("{}: {}", where, what)
                                          : fmt::format("{}: {}: {}", where, path, what)));
}

Error Diagnostics::error() const {
  std::string text;
  for (const std::string& line : lines_) {
    if (!text.empty()) text += '\n';
    text += line;
  }
  if (count_ > lines_.size()) text += fmt::format("\n{}: and {} more", file_, count_ - lines_.size());
  return Error{text};
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t kMaxWord = 64;  // longer words are never near a key
  if (a.size() > kMaxWord || b.size() > kMaxWord) return kMaxWord;
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = last;
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = word.size() / 3 + 2;  // a third of the word, one more for short ones
  for (const std::string_view candidate : candidates) {
    const std::size_t d = edit_distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  if (const std::string_view near = nearest(word, candidates); !near.empty()) {
    return fmt::format("; did you mean '{}'?", near);
  }
  return fmt::format("; known: {}", fmt::join(candidates, ", "));
}

}  // namespace mrc::config
