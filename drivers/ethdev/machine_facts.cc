// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/machine_facts.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace mrc::ethdev {
namespace {

namespace fs = std::filesystem;

std::uint64_t read_number(const fs::path& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return (file >> value) ? value : 0;
}

std::vector<HugepageFacts> read_hugepages(const std::string& root) {
  std::vector<HugepageFacts> out;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(root + "/sys/kernel/mm/hugepages", ec)) {
    const std::string name = entry.path().filename().string();  // hugepages-2048kB
    std::uint64_t kib = 0;
    constexpr std::string_view kPrefix = "hugepages-";
    if (!name.starts_with(kPrefix)) continue;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), kib);
    out.push_back({kib * 1024, read_number(entry.path() / "nr_hugepages"),
                   read_number(entry.path() / "free_hugepages")});
  }
  std::ranges::sort(out, {}, &HugepageFacts::page_bytes);
  return out;
}

std::uint64_t read_memory_available(const std::string& root) {
  std::ifstream file(root + "/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string rest;
  while (file >> key >> kib && std::getline(file, rest)) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return 0;
}

std::vector<unsigned> allowed_cpus() {
  std::vector<unsigned> out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return out;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  }
  return out;
}

}  // namespace

std::uint64_t MachineFacts::hugepage_free_bytes() const {
  std::uint64_t sum = 0;
  for (const HugepageFacts& h : hugepages) sum += h.page_bytes * h.free_pages;
  return sum;
}

MachineFacts read_machine_facts(const std::string& root) {
  MachineFacts facts;
  facts.hugepages = read_hugepages(root);
  facts.cpus = allowed_cpus();
  facts.memory_available_bytes = read_memory_available(root);
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) facts.memlock_bytes = limit.rlim_cur;
  facts.root = geteuid() == 0;
  std::error_code ec;
  facts.iommu = fs::directory_iterator(root + "/sys/kernel/iommu_groups", ec) != fs::directory_iterator();
  facts.pci_root = root + "/sys/bus/pci/devices";
  return facts;
}

std::optional<std::vector<unsigned>> parse_cpu_list(const std::string& list) {
  std::vector<unsigned> out;
  std::istringstream in(list);
  std::string item;
  while (std::getline(in, item, ',')) {
    unsigned first = 0;
    const char* end = item.data() + item.size();
    auto [p, ec] = std::from_chars(item.data(), end, first);
    if (ec != std::errc{}) return std::nullopt;
    unsigned last = first;
    if (p != end && *p == '-') {
      auto [q, ec2] = std::from_chars(p + 1, end, last);
      if (ec2 != std::errc{}) return std::nullopt;
      p = q;
    }
    constexpr unsigned kMaxCpu = CPU_SETSIZE - 1;
    if (p != end || last < first || last > kMaxCpu) return std::nullopt;
    for (unsigned cpu = first; cpu <= last; ++cpu) out.push_back(cpu);
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::string format_cpu_list(const std::vector<unsigned>& cpus) {
  std::ostringstream out;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    out << (i == 0 ? "" : ",") << cpus[i];
    if (j > i) out << '-' << cpus[j];
    i = j + 1;
  }
  return out.str();
}

}  // namespace mrc::ethdev
