// SPDX-License-Identifier: BSD-3-Clause
#include "json_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/json_text.h"

namespace mrc::simapp {

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 40;
  std::string out;
  for (const char c : text.substr(0, kMost)) out += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kMost ? out + ".." : out;
}

std::string exact_number(double v) {
  if (v == std::trunc(v) && std::abs(v) < static_cast<double>(kMaxWhole))
    return fmt::format("{}", static_cast<std::int64_t>(v));
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, v);
  return {digits, end.ptr};
}

Result<Json> parse_object(std::string_view line) {
  if (line.size() > kMaxLineBytes)
    return Error{fmt::format("{} bytes long; a line has at most {}: one JSON object a line", line.size(),
                             kMaxLineBytes)};
  auto out = config::parse_json<Json>(line);
  if (!out) return Error{out.error().message + "; one whole JSON object a line"};
  if (!out->is_object())
    return Error{
        fmt::format("it is a JSON {}, not an object: write {{\"key\": value, ...}}", out->type_name())};
  return out;
}

Fields::Fields(const Json& object, std::string prefix) : object_(object), prefix_(std::move(prefix)) {}

void Fields::fail(std::string message) {
  if (!error_) error_ = Error{std::move(message)};
}

const Json* Fields::find(const char* key) {
  known_.emplace_back(key);
  const auto it = object_.find(key);
  return error_ || it == object_.end() ? nullptr : &*it;
}

bool Fields::refuse(const char* key, const Json& value, const std::string& limit) {
  fail(fmt::format("{}{} is {}; it must be {}", prefix_, key,
                   printable(value.dump(-1, ' ', true, Json::error_handler_t::replace)), limit));
  return false;
}

bool Fields::whole(const char* key, std::int64_t low, std::int64_t high, std::int64_t& out) {
  const Json* v = find(key);
  if (v == nullptr) return false;
  const auto limit = [&] { return fmt::format("a whole number from {} to {}", low, high); };
  std::int64_t got = 0;
  if (v->is_number_unsigned() && v->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return refuse(key, *v, limit());
  if (v->is_number_integer()) {
    got = v->get<std::int64_t>();
  } else if (v->is_number_float()) {  // 1e5 is whole, too
    const double d = v->get<double>();
    if (d != std::trunc(d) || std::abs(d) > static_cast<double>(kMaxWhole)) return refuse(key, *v, limit());
    got = static_cast<std::int64_t>(d);
  } else {
    return refuse(key, *v, limit());
  }
  if (got < low || got > high) return refuse(key, *v, limit());
  out = got;
  return true;
}

bool Fields::real(const char* key, double low, double high, double& out) {
  const Json* v = find(key);
  if (v == nullptr) return false;
  if (!v->is_number() || !(v->get<double>() >= low && v->get<double>() <= high))
    return refuse(key, *v, fmt::format("a number from {} to {}", exact_number(low), exact_number(high)));
  out = v->get<double>();
  return true;
}

bool Fields::flag(const char* key, bool& out) {
  const Json* v = find(key);
  if (v == nullptr) return false;
  if (!v->is_boolean()) return refuse(key, *v, "true or false");
  out = v->get<bool>();
  return true;
}

bool Fields::word(const char* key, std::string& out) {
  const Json* v = find(key);
  if (v == nullptr) return false;
  if (!v->is_string()) return refuse(key, *v, "a string");
  out = v->get<std::string>();
  return true;
}

bool Fields::null(const char* key) {
  const Json* v = find(key);
  return v != nullptr && v->is_null();
}

const Json* Fields::object(const char* key) {
  const Json* v = find(key);
  if (v == nullptr) return nullptr;
  if (!v->is_object()) {
    refuse(key, *v, "an object");
    return nullptr;
  }
  return v;
}

Result<void> Fields::finish() {
  if (error_) return *error_;
  for (const auto& item : object_.items()) {
    if (std::find(known_.begin(), known_.end(), item.key()) == known_.end())
      return Error{fmt::format("unknown key \"{}{}\"; known here: {}", prefix_, printable(item.key()),
                               fmt::join(known_, ", "))};
  }
  return {};
}

}  // namespace mrc::simapp
