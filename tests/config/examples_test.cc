// SPDX-License-Identifier: BSD-3-Clause
// Every file under config/ loads, and says in its first comment what it is for.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "config/endpoint_config.h"
#include "config/yaml_tree.h"

namespace mrc::config {
namespace {

namespace fs = std::filesystem;

const char* config_dir() {
  const char* dir = std::getenv("MRC_CONFIG_DIR");
  return dir == nullptr ? "config" : dir;
}

TEST(Examples, EveryFileLoads) {
  std::set<Profile> seen;
  for (const fs::directory_entry& e : fs::directory_iterator(config_dir())) {
    if (e.path().extension() != ".yaml" || !e.path().filename().string().starts_with("endpoint-")) continue;
    const Result<EndpointConfig> r = load_endpoint_file(e.path().string());
    ASSERT_TRUE(r) << r.error().message;
    seen.insert(r->profile);
    EXPECT_EQ(read_text_file(e.path().string())->rfind("# ", 0), 0U)
        << e.path() << " starts with its purpose";
  }
  EXPECT_EQ(seen.size(), 8U) << "one example a profile";
}

TEST(Examples, ReadmeNamesEveryKey) {
  const Result<std::string> readme = read_text_file(std::string(config_dir()) + "/README.md");
  ASSERT_TRUE(readme) << readme.error().message;
  const Result<YamlNode> tree = parse_yaml(print_endpoint(EndpointConfig{}, false), "defaults");
  ASSERT_TRUE(tree) << tree.error().message;
  for (const YamlNode::Entry& section : tree->entries) {
    EXPECT_NE(readme->find("`" + section.key + "`"), std::string::npos) << section.key;
    for (const YamlNode::Entry& key : section.value.entries) {
      EXPECT_NE(readme->find("`" + key.key + "`"), std::string::npos) << section.key << "." << key.key;
    }
  }
}

}  // namespace
}  // namespace mrc::config
