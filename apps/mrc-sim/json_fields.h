// SPDX-License-Identifier: BSD-3-Clause
// One JSON object read strictly: every value has a range, a key nobody asked for is an error, and the first
// error stands.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mrc::simapp {

using Json = nlohmann::json;

inline constexpr std::size_t kMaxLineBytes = 65536;
inline constexpr std::int64_t kMaxWhole = std::int64_t{1} << 53;  ///< JSON numbers are exact up to here
inline constexpr double kMaxReal = 1e18;

/// A line's JSON object. Not JSON, no object, a key twice, too deep, or too long: an error.
[[nodiscard]] Result<Json> parse_object(std::string_view line);

/// Text of a stranger for an error message: printable ASCII, at most 40 characters.
[[nodiscard]] std::string printable(std::string_view text);

/// Shortest decimal digits that read back as the same IEEE 754 double; a whole number below 2^53 without
/// point and exponent. Independent of locale.
[[nodiscard]] std::string exact_number(double v);

/// Readers return true when the key is there and right, and then set `out`; otherwise `out` stays. After the
/// first error all return false. One owner.
class Fields {
 public:
  /// `prefix` stands before keys in messages ("state." for a nested object). `object` outlives this.
  explicit Fields(const Json& object, std::string prefix = {});

  bool whole(const char* key, std::int64_t low, std::int64_t high, std::int64_t& out);
  bool real(const char* key, double low, double high, double& out);
  bool flag(const char* key, bool& out);
  bool word(const char* key, std::string& out);
  /// A nested object.
  const Json* object(const char* key);

  /// JSON null: there, and nothing in it.
  bool null(const char* key);

  [[nodiscard]] bool has(const char* key) const { return object_.contains(key); }
  [[nodiscard]] bool ok() const { return !error_; }
  void fail(std::string message);
  /// The first error, or a key that no reader asked for.
  [[nodiscard]] Result<void> finish();

 private:
  const Json* find(const char* key);
  bool refuse(const char* key, const Json& value, const std::string& limit);

  const Json& object_;
  std::string prefix_;
  std::vector<std::string_view> known_;
  std::optional<Error> error_;
};

}  // namespace mrc::simapp
