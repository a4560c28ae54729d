// SPDX-License-Identifier: BSD-3-Clause
// `mrc-sim run` around a transport with a defect: the violation stops the run, and its seed is replayed with
// a trace.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/seeded_defect.h"
#include "run_command.h"

#ifndef MRC_SEEDED_DEFECTS
#error "compile this with -DMRC_SEEDED_DEFECTS, as the transport beside it"
#endif

namespace mrc::simapp {
namespace {

constexpr const char* kScenario =
    "network: {hosts: 4, hosts_per_t0: 2, t1: 2, planes: 2}\n"
    "workload: {shape: permutation, bytes: 1M}\n"
    "faults: [{kind: loss, place: fabric, probability: 0.01}]\n";

struct Ran {
  ExitCode code = ExitCode::kUsage;
  std::string words;               ///< on standard error
  std::vector<std::string> trace;  ///< lines of --replay; none: no file
};

class Replay : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "mrc-replay-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
    std::ofstream(dir_ / "scenario.yaml") << kScenario;
  }
  void TearDown() override {
    active_defect = Defect::kNone;
    std::filesystem::remove_all(dir_);
  }

  Ran run(Defect defect, bool to_file) {
    active_defect = defect;
    Ran out;
    CLI::App app;
    add_run_command(app, out.code);
    std::vector<std::string> words{"run", (dir_ / "scenario.yaml").string(), "--seed", "3", "-q"};
    const std::filesystem::path trace = dir_ / "trace.txt";
    if (to_file) words.insert(words.end(), {"--replay", trace.string()});
    std::vector<const char*> argv{"mrc-sim"};
    for (const std::string& w : words) argv.push_back(w.c_str());
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    app.parse(static_cast<int>(argv.size()), argv.data());
    testing::internal::GetCapturedStdout();
    out.words = testing::internal::GetCapturedStderr();
    std::ifstream in(trace);
    for (std::string line; std::getline(in, line);) out.trace.push_back(line);
    return out;
  }

  std::filesystem::path dir_;
};

TEST_F(Replay, ARunThatHoldsHasNothingToReplay) {
  const Ran r = run(Defect::kNone, true);
  EXPECT_EQ(r.code, ExitCode::kPass) << r.words;
  EXPECT_TRUE(r.trace.empty());
}

TEST_F(Replay, AViolationStopsNamesSeedAndTimeAndIsReplayed) {
  const Ran r = run(Defect::kWrongOooCount, true);
  EXPECT_EQ(r.code, ExitCode::kFailed);
  ASSERT_GT(r.trace.size(), 10U) << r.words;
  const std::string& last = r.trace.back();
  EXPECT_NE(last.find("violated: QP"), std::string::npos) << last;
  EXPECT_NE(last.find("ooo_count is"), std::string::npos) << last;
  const auto seed = last.find("(seed 3, ");
  ASSERT_NE(seed, std::string::npos) << last;
  const std::string at = last.substr(seed + 9, last.find(" ns)") - seed - 9);
  // The lie itself is the last SACK sent, at that time.
  std::string sack;
  for (const std::string& line : r.trace)
    if (line.find(" sent ") != std::string::npos && line.find("SACK") != std::string::npos) sack = line;
  EXPECT_NE(sack.find(at), std::string::npos) << sack;
  EXPECT_NE(r.words.find("seed 3, " + at + " ns"), std::string::npos) << r.words;
  EXPECT_EQ(run(Defect::kWrongOooCount, true).trace, r.trace) << "the same seed, the same trace";
}

TEST_F(Replay, WithoutAFileTheLastLinesAreShown) {
  const Ran r = run(Defect::kBlameTrimmed, false);  // no trims here: it holds
  EXPECT_EQ(r.code, ExitCode::kPass);
  const Ran broken = run(Defect::kNoReordering, false);
  EXPECT_EQ(broken.code, ExitCode::kFailed);
  EXPECT_NE(broken.words.find("violated: QP"), std::string::npos) << broken.words;
  EXPECT_NE(broken.words.find("SACK cack"), std::string::npos) << broken.words;
  EXPECT_NE(broken.words.find("--seed 3 --replay FILE"), std::string::npos) << broken.words;
}

}  // namespace
}  // namespace mrc::simapp
