// SPDX-License-Identifier: BSD-3-Clause
// One EAL for all tests of the program: no hugepages, no devices, no rights needed. The affinity that
// rte_eal_init sets is taken back, so that threads of tests may use every CPU.
#include <gtest/gtest.h>
#include <rte_eal.h>
#include <sched.h>

#include <array>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof(cpus), &cpus);
  std::array<std::string, 10> args{"nic_test", "--no-huge", "--no-pci", "--no-shconf",    "-m",
                                   "1024",     "-l",        "0",        "--no-telemetry", "--log-level=3"};
  std::array<char*, args.size()> argv_eal{};
  for (std::size_t i = 0; i < args.size(); ++i) argv_eal[i] = args[i].data();
  if (rte_eal_init(static_cast<int>(args.size()), argv_eal.data()) < 0) {
    std::fputs("nic_test: EAL does not start without hugepages and devices\n", stderr);
    return 1;
  }
  sched_setaffinity(0, sizeof(cpus), &cpus);
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}
