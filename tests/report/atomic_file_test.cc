// SPDX-License-Identifier: BSD-3-Clause
#include "report/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace mrc::report {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mrc-atomic-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { fs::remove_all(dir_); }
  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(dir_), {}));
  }
  fs::path dir_;
};

TEST_F(AtomicFile, WritesAndReplacesWhole) {
  const fs::path path = dir_ / "r.json";
  ASSERT_TRUE(write_file_atomically(path.string(), std::string(100000, 'a')));
  ASSERT_TRUE(write_file_atomically(path.string(), "short"));
  EXPECT_EQ(read(path), "short");
  EXPECT_EQ(files(), 1U) << "no temporary file is left";
  struct stat st {};
  ASSERT_EQ(::stat(path.c_str(), &st), 0);
  EXPECT_NE(st.st_mode & S_IRUSR, 0U);
}

TEST_F(AtomicFile, AFailureLeavesTheOldFileAndNoRubbish) {
  const fs::path path = dir_ / "d";
  fs::create_directory(path);
  const Result<void> r = write_file_atomically(path.string(), "x");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("cannot be replaced"), std::string::npos) << r.error().message;
  EXPECT_EQ(files(), 1U);
  EXPECT_FALSE(write_file_atomically((dir_ / "no" / "x").string(), "x"));
}

TEST_F(AtomicFile, ClaimingRemovesAnOldResultAndFindsOutEarly) {
  const fs::path path = dir_ / "r.json";
  ASSERT_TRUE(claim_result_file(path.string())) << "not there yet";
  EXPECT_EQ(files(), 0U);
  ASSERT_TRUE(write_file_atomically(path.string(), "old"));
  ASSERT_TRUE(claim_result_file(path.string()));
  EXPECT_EQ(files(), 0U) << "neither the old result nor rubbish";
  const Result<void> missing = claim_result_file((dir_ / "no" / "r.json").string());
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("cannot be created: No such file"), std::string::npos);
  const Result<void> directory = claim_result_file(dir_.string());
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("Is a directory"), std::string::npos) << directory.error().message;
  EXPECT_TRUE(claim_result_file("-"));
  EXPECT_TRUE(claim_result_file("/dev/null"));
  EXPECT_TRUE(fs::exists("/dev/null"));
}

TEST_F(AtomicFile, AFullDeviceIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const Result<void> r = write_file_atomically("/dev/full", "x");
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("No space left"), std::string::npos) << r.error().message;
}

}  // namespace
}  // namespace mrc::report
