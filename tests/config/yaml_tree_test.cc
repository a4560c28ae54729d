// SPDX-License-Identifier: BSD-3-Clause
#include "config/yaml_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace mrc::config {
namespace {

std::string error_of(std::string_view text) {
  const Result<YamlNode> r = parse_yaml(text, "f.yaml");
  return r ? "" : r.error().message;
}

TEST(YamlTree, KeepsOrderLinesAndQuotes) {
  const Result<YamlNode> r = parse_yaml("a: 1\nb:\n  - x\n  - \"2\"\n", "f.yaml");
  ASSERT_TRUE(r) << r.error().message;
  ASSERT_EQ(r->entries.size(), 2U);
  EXPECT_EQ(r->entries[0].key, "a");
  EXPECT_FALSE(r->entries[0].value.quoted);
  const YamlNode& list = r->entries[1].value;
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[1].line, 4U);
  EXPECT_TRUE(list.items[1].quoted);
}

TEST(YamlTree, EmptyFileIsAnEmptyMap) {
  for (const char* text : {"", "# only a comment\n", "---\n"}) {
    const Result<YamlNode> r = parse_yaml(text, "f.yaml");
    ASSERT_TRUE(r) << r.error().message;
    EXPECT_TRUE(r->entries.empty());
  }
}

TEST(YamlTree, RefusesDuplicateKeys) {
  EXPECT_EQ(error_of("a: 1\nb: 2\na: 3\n"),
            "f.yaml:3: a: this key was given already in line 1; keep one of them");
  EXPECT_EQ(error_of("s:\n  k: 1\n  k: 2\n"),
            "f.yaml:3: k: this key was given already in line 2; keep one of them");
}

TEST(YamlTree, RefusesAliasBombs) {
  const std::string bomb =
      "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: [*c, *c, *c, *c]\n";
  EXPECT_NE(error_of(bomb).find("f.yaml:1: anchors"), std::string::npos) << error_of(bomb);
  EXPECT_FALSE(error_of("<<: *base\n").empty());
}

TEST(YamlTree, RefusesTagsAndSecondDocuments) {
  EXPECT_NE(error_of("a: !!binary xx\n").find("tag"), std::string::npos);
  EXPECT_NE(error_of("a: 1\n---\nb: 2\n").find("second document"), std::string::npos);
}

TEST(YamlTree, BoundsDepth) {
  EXPECT_NE(error_of("a: " + std::string(100, '[') + std::string(100, ']')).find("nested"),
            std::string::npos);
  EXPECT_NE(error_of("a: " + std::string(200000, '[')).find("nested"), std::string::npos);
  std::string block;
  for (std::size_t i = 0; i < kMaxDepth + 1; ++i) block += std::string(2 * i, ' ') + "k:\n";
  EXPECT_NE(error_of(block + std::string(2 * (kMaxDepth + 1), ' ') + "v: 1\n").find("nested deeper than 16"),
            std::string::npos);
}

TEST(YamlTree, BoundsCountsAndSizes) {
  std::string many = "a: [";
  for (std::size_t i = 0; i <= kMaxNodes; ++i) many += "1,";
  EXPECT_NE(error_of(many + "1]").find("more than 65536 values"), std::string::npos);
  EXPECT_NE(error_of("a: " + std::string(kMaxScalarBytes + 1, 'x')).find("longer than the limit"),
            std::string::npos);
  EXPECT_NE(error_of(std::string(kMaxFileBytes + 1, '#')).find("at most 1048576 bytes"), std::string::npos);
}

TEST(YamlTree, RefusesWhatIsNotText) {
  using namespace std::string_view_literals;
  EXPECT_EQ(error_of("a: 1\nb: \0\n"sv), "f.yaml:2: a zero byte; this is not a text file");
  EXPECT_NE(error_of("a: [1\n").find("f.yaml:"), std::string::npos);
  EXPECT_NE(error_of("- 1\n- 2\n").find("expected 'key: value' lines, found a list"), std::string::npos);
  EXPECT_NE(error_of("[a]: 1\n"), "");
}

TEST(YamlTree, FindsTheLineOfAPath) {
  const Result<YamlNode> r = parse_yaml("p:\n  - ip: x\n  - ip: y\nq:\n  m: 1\n", "f.yaml");
  ASSERT_TRUE(r);
  EXPECT_EQ(find_line(*r, "p[1].ip"), 3U);
  EXPECT_EQ(find_line(*r, "q.m"), 5U);
  EXPECT_EQ(find_line(*r, "q.absent"), 4U);
  EXPECT_EQ(find_line(*r, "absent"), 0U);
}

TEST(YamlTree, ReadsFilesWithALimit) {
  EXPECT_NE(read_text_file("/nonexistent/x.yaml").error().message.find("cannot be opened: No such file"),
            std::string::npos);
  EXPECT_FALSE(read_text_file("/"));
  EXPECT_NE(read_text_file("/dev/zero").error().message.find("larger than the limit"), std::string::npos);
}

// Who opens a named pipe waits for its writer; nobody may ever come.
TEST(YamlTree, APipeThatNobodyWritesToIsAnError) {
  const std::string path = ::testing::TempDir() + "mrc_yaml_pipe";
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_text_file(path).error().message, path + ": a pipe that nobody writes to");
  ::unlink(path.c_str());

  // What a shell's <(...) is: a pipe with a writer that takes its time.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string sent(200000, '#');
  std::thread writer([&] {
    for (std::size_t at = 0; at < sent.size(); at += 50000) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (::write(ends[1], sent.data() + at, 50000) != 50000) break;
    }
    ::close(ends[1]);
  });
  const auto text = read_text_file("/dev/fd/" + std::to_string(ends[0]));
  writer.join();
  ::close(ends[0]);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, sent);
}

TEST(YamlTree, ItemsOfAListAreSetByTheirNumber) {
  YamlNode root;
  root.kind = YamlNode::Kind::kMap;
  for (const char* path : {"planes[0].ip", "planes[1].ip", "planes[+].ip", "planes[1].mtu"})
    ASSERT_TRUE(set_in_tree(root, path, "7")) << path;
  ASSERT_EQ(root.entries.size(), 1U);
  ASSERT_EQ(root.entries[0].value.items.size(), 3U);
  EXPECT_EQ(root.entries[0].value.items[1].entries.size(), 2U);
  for (const std::string path : {"planes[99999999999999999999].ip", "planes[4].ip", "planes[x].ip",
                                 "planes[1x].ip", "planes[].ip", "planes[-1].ip", "planes[ 1].ip"}) {
    const auto set = set_in_tree(root, path, "7");
    ASSERT_FALSE(set) << path;
    EXPECT_EQ(set.error().message,
              "command line: " + path + ": not a key; keys look like qp.mtu or planes[0].ip");
  }
  EXPECT_EQ(root.entries[0].value.items.size(), 3U) << "what is refused leaves nothing behind";
}

TEST(YamlTree, AKeyOfTheCommandLineIsPrintableAndShallow) {
  YamlNode root;
  root.kind = YamlNode::Kind::kMap;
  std::string deep = "a";
  for (int i = 0; i < 60000; ++i) deep += ".a";
  const auto set = set_in_tree(root, deep, "1");
  ASSERT_FALSE(set);
  EXPECT_LT(set.error().message.size(), 200U);
  EXPECT_EQ(set_in_tree(root, "\x1b[31m", "1").error().message.find('\x1b'), std::string::npos);
  EXPECT_EQ(set_in_tree(root, "a", "]\x1b[31m").error().message,
            "command line: a: ']\\x1b[31m' is not a YAML value");
}

}  // namespace
}  // namespace mrc::config
