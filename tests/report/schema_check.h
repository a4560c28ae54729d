// SPDX-License-Identifier: BSD-3-Clause
// The subset of JSON Schema draft 7 that softmrc.result-1.json uses, so that the schema is checked on
// machines without a validator too: type, const, enum, minimum, maximum, pattern, maxItems, required,
// properties, additionalProperties, items, and $ref into definitions. An unknown keyword is an error, not a
// pass.
#pragma once

#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace mrc::report {

class SchemaCheck {
 public:
  explicit SchemaCheck(const nlohmann::json& schema) : root_(schema) {}

  std::vector<std::string> errors(const nlohmann::json& value) {
    out_.clear();
    check(root_, value, "$");
    return out_;
  }

 private:
  using Json = nlohmann::json;

  static bool is_type(const std::string& type, const Json& v) {
    if (type == "object") return v.is_object();
    if (type == "array") return v.is_array();
    if (type == "string") return v.is_string();
    if (type == "boolean") return v.is_boolean();
    if (type == "integer") return v.is_number_integer();
    return type == "number" && v.is_number();
  }
  void fail(const std::string& at, const std::string& what) { out_.push_back(at + ": " + what); }

  void check(const Json& s, const Json& v, const std::string& at) {
    static const std::set<std::string> kIgnored{"$schema",     "$id",        "title",
                                                "definitions", "properties", "additionalProperties"};
    if (s.contains("$ref")) {
      const std::string ref = s["$ref"].get<std::string>();
      return check(root_.at(Json::json_pointer(ref.substr(1))), v, at);
    }
    for (const auto& [keyword, rule] : s.items()) {
      if (kIgnored.count(keyword) == 0) check_keyword(keyword, rule, v, at);
    }
    if (v.is_object()) check_properties(s, v, at);
  }

  void check_keyword(const std::string& keyword, const Json& rule, const Json& v, const std::string& at) {
    if (keyword == "type") {
      if (!is_type(rule.get<std::string>(), v)) fail(at, "is not " + rule.dump());
    } else if (keyword == "const") {
      if (v != rule) fail(at, "is not " + rule.dump());
    } else if (keyword == "enum") {
      bool found = false;
      for (const Json& choice : rule) found = found || choice == v;
      if (!found) fail(at, v.dump() + " is not one of " + rule.dump());
    } else if (keyword == "minimum") {
      if (v.is_number() && v.get<double>() < rule.get<double>()) fail(at, "is below " + rule.dump());
    } else if (keyword == "maximum") {
      if (v.is_number() && v.get<double>() > rule.get<double>()) fail(at, "is above " + rule.dump());
    } else if (keyword == "pattern") {
      if (v.is_string() && !std::regex_search(v.get<std::string>(), std::regex(rule.get<std::string>()))) {
        fail(at, v.dump() + " does not match " + rule.dump());
      }
    } else if (keyword == "required") {
      for (const Json& name : rule) {
        if (v.is_object() && !v.contains(name.get<std::string>())) fail(at, "lacks " + name.dump());
      }
    } else if (keyword == "maxItems") {
      if (v.is_array() && v.size() > rule.get<std::size_t>()) fail(at, "has more items than " + rule.dump());
    } else if (keyword == "items") {
      for (std::size_t i = 0; v.is_array() && i < v.size(); ++i)
        check(rule, v[i], at + "[" + std::to_string(i) + "]");
    } else {
      fail(at, "the checker does not know " + keyword);
    }
  }

  void check_properties(const Json& s, const Json& v, const std::string& at) {
    for (const auto& [name, member] : v.items()) {
      const std::string where = at + "." + name;
      if (s.contains("properties") && s["properties"].contains(name)) {
        check(s["properties"][name], member, where);
      } else if (s.contains("additionalProperties") && s["additionalProperties"].is_object()) {
        check(s["additionalProperties"], member, where);
      } else if (s.contains("additionalProperties") && s["additionalProperties"] == false) {
        fail(where, "is not in the schema");
      }
    }
  }

  const Json& root_;
  std::vector<std::string> out_;
};

}  // namespace mrc::report
