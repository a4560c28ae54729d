// SPDX-License-Identifier: BSD-3-Clause
// EV expansion as the sample program of the OCP MRC API prints it: the cases of tests/wire/vectors.json.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ev_expansion_cases.h"

namespace mrc::path {
namespace {

/// The name says the format: "SRv6, 4-bit fields in 16-bit format slots".
EvFormat format_of(const std::string& name) {
  if (name.starts_with("SRv6+SRH")) return EvFormat::kSrv6Srh;
  return name.starts_with("SRv6") ? EvFormat::kSrv6 : EvFormat::kStev;
}

/// gtest takes letters, digits and underscores.
std::string as_test_name(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::vector<ExpansionCase> published_cases() {
  std::ifstream in(MRC_VECTORS);
  const auto doc = nlohmann::json::parse(in);
  std::vector<ExpansionCase> out;
  for (const auto& v : doc.at("ev_expansion")) {
    ExpansionCase& c = out.emplace_back();
    c.name = v.at("name");
    c.format = format_of(c.name);
    c.name = as_test_name(c.name);
    c.format_widths = v.at("format").get<std::vector<std::uint8_t>>();
    for (const auto& f : v.at("fields")) c.fields.push_back(masked(f.at(0), f.at(1), f.at(2)));
    c.ev = v.at("ev");
    c.expanded = v.at("expanded");
  }
  return out;
}

TEST(ExpansionVectors, AreThere) {
  EXPECT_EQ(published_cases().size(), 6U);
}

INSTANTIATE_TEST_SUITE_P(Published, Expansion, ::testing::ValuesIn(published_cases()), name_of);

}  // namespace
}  // namespace mrc::path
