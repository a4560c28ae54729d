// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target over the files of its corpus directories, without a fuzzer: the corpus as a normal test.
// Each file is also run cut short and with single bytes changed, from a fixed seed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

void run_with_variants(const Bytes& bytes, mrc::Rng& rng) {
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  if (bytes.empty()) return;
  for (int i = 0; i < 32; ++i) {
    Bytes variant = bytes;
    if (i % 2 == 0) variant.resize(rng.below(bytes.size()));
    const std::uint64_t edits = 1 + rng.below(4);
    for (std::uint64_t k = 0; k < edits && !variant.empty(); ++k) {
      variant[rng.below(variant.size())] = static_cast<std::uint8_t>(rng.below(256));
    }
    LLVMFuzzerTestOneInput(variant.data(), variant.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::uint64_t kSeed = 20240917;
  mrc::Rng rng(kSeed);
  std::size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) run_with_variants(read(path), rng);
    files += paths.size();
  }
  std::printf("%zu corpus files, 33 runs each, seed %llu\n", files, static_cast<unsigned long long>(kSeed));
  return files == 0 ? 1 : 0;  // an empty corpus proves nothing
}
