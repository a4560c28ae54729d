// SPDX-License-Identifier: BSD-3-Clause
// JSON of others: peers, files, standard input. The one place that parses any.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "base/result.h"

namespace mrc::config {

/// What we write nests six deep at most. Nothing deeper is built, as printing or freeing it recurses.
inline constexpr int kMaxJsonDepth = 16;

/// The value that `text` is; `Json` is a nlohmann::basic_json. The caller bounds the size of `text`. Errors,
/// one printable line: no JSON (from which byte on), nested too deep, a key twice in one object.
template <class Json>
[[nodiscard]] Result<Json> parse_json(std::string_view text) {
  struct Refusal {
    std::string what;
  };
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, typename Json::parse_event_t event, Json& parsed) {
    using Event = typename Json::parse_event_t;
    if (depth > kMaxJsonDepth) throw Refusal{fmt::format("brackets nested more than {} deep", kMaxJsonDepth)};
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event != Event::key) return true;
    const auto& key = parsed.template get_ref<const std::string&>();
    if (!keys.back().insert(key).second)
      throw Refusal{fmt::format("key \"{}\" stands twice: keep one of them", printable_excerpt(key))};
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Refusal& r) {
    return Error{r.what};
  } catch (const typename Json::exception& e) {
    const auto* where = dynamic_cast<const typename Json::parse_error*>(&e);
    return Error{fmt::format("not JSON from byte {} on: '{}'", where != nullptr ? where->byte : 1,
                             printable_excerpt(text))};
  }
}

}  // namespace mrc::config
