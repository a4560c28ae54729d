// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/eal_args.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <sstream>
#include <string_view>

#include "base/shell_quoted.h"
#include "ethdev/text.h"

namespace mrc::ethdev {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLcores = 128;  // RTE_MAX_LCORE of the packaged DPDK
constexpr std::size_t kMaxDevices = 32;  // RTE_MAX_ETHPORTS
constexpr std::uint32_t kMinMemoryMib = 64;
constexpr std::uint32_t kMaxMemoryMib = 1U << 20;
constexpr std::uint64_t kMib = 1U << 20;

/// True if the user gave any of these options ("-l", "-l0", "--lcores", "--lcores=0").
bool user_gave(const EalConfig& config, std::initializer_list<std::string_view> options) {
  return std::ranges::any_of(config.extra_args, [&](const std::string& arg) {
    return std::ranges::any_of(options, [&](std::string_view option) {
      if (option.starts_with("--")) return arg == option || arg.starts_with(std::string(option) + "=");
      return arg.starts_with(option) && !arg.starts_with("--");
    });
  });
}

/// Options that EAL takes and that would keep this process from working, or its own from starting.
std::string why_not_passed_on(const std::vector<std::string>& args, std::size_t i) {
  const std::string& arg = args[i];
  const std::string_view name = std::string_view(arg).substr(0, arg.find('='));
  // getopt takes any beginning of a long option that is unique.
  const auto is = [&](std::string_view option, std::size_t shortest) {
    return name.size() >= shortest && option.starts_with(name);
  };
  if (is("--proc-type", 4)) {
    const bool attached = arg.size() > name.size();
    const std::string value = attached ? arg.substr(name.size() + 1) : i + 1 < args.size() ? args[i + 1] : "";
    if (value == "primary") return "";
    return "each end is a process of its own; a secondary one would wait for a primary one's memory. Leave "
           "it out";
  }
  return "";
}

Result<void> check_limits(const EalConfig& config) {
  if (config.cpus.size() > kMaxLcores)
    return error("lcores: ", config.cpus.size(), " asked for, DPDK has ", kMaxLcores, "; list fewer CPUs");
  if (config.memory_mib < kMinMemoryMib || config.memory_mib > kMaxMemoryMib)
    return error("memory: ", config.memory_mib, " MiB is outside ", kMinMemoryMib, "..", kMaxMemoryMib,
                 " MiB");
  const std::size_t devices = config.pci_allow.size() + config.vdevs.size();
  if (devices > kMaxDevices)
    return error("ports: ", devices, " asked for, DPDK has room for ", kMaxDevices, "; list fewer");
  if (config.file_prefix.find('/') != std::string::npos)
    return error("file prefix '", config.file_prefix, "': it names files, so it must not contain '/'");
  for (std::size_t i = 0; i < config.extra_args.size(); ++i) {
    const std::string& arg = config.extra_args[i];
    // EAL would print its own usage and exit the process, for abbreviations too.
    const bool abbreviated = arg.size() > 2 && (std::string_view("--help").starts_with(arg) ||
                                                std::string_view("--version").starts_with(arg));
    if (arg == "-h" || arg == "-v" || abbreviated)
      return error("EAL argument '", arg,
                   "': not passed on; EAL's options are listed by `dpdk-testpmd --help`");
    if (const std::string why = why_not_passed_on(config.extra_args, i); !why.empty())
      return error("EAL argument '", arg, "': ", why);
    if (arg == "--") return error("EAL argument '--': a second '--' has no meaning here; remove it");
  }
  return {};
}

Result<void> plan_lcores(const EalConfig& config, const MachineFacts& facts, EalPlan& plan) {
  if (user_gave(config, {"-l", "-c", "--lcores"})) {
    plan.notes.emplace_back("lcores: as given in the EAL arguments");
    return {};
  }
  if (facts.cpus.empty())
    return error("CPUs: the list of usable CPUs cannot be read (sched_getaffinity failed)");
  std::vector<unsigned> cpus = config.cpus;
  if (cpus.empty()) cpus.push_back(facts.cpus.front());
  std::ostringstream map;
  for (std::size_t lcore = 0; lcore < cpus.size(); ++lcore) {
    if (!std::ranges::binary_search(facts.cpus, cpus[lcore]))
      return error("CPU ", cpus[lcore], " is not usable: this process may run on CPUs ",
                   format_cpu_list(facts.cpus),
                   " (machine, taskset or cgroup); choose from these, a CPU may be listed several times");
    map << (lcore == 0 ? "" : ",") << lcore << '@' << cpus[lcore];
  }
  plan.args.insert(plan.args.end(), {"--lcores", map.str()});
  std::vector<unsigned> distinct = cpus;
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const bool shared = distinct.size() < cpus.size();
  plan.notes.push_back(text("lcores: ", cpus.size(), " on CPU ", format_cpu_list(distinct), " (lcore@cpu ",
                            map.str(), ")", shared ? "; lcores that share a CPU yield when idle" : ""));
  return {};
}

/// The user has chosen the kind of memory, or how much, or both; what is open is ours.
Result<void> complete_memory(const EalConfig& config, const MachineFacts& facts, EalPlan& plan) {
  const bool sized = user_gave(config, {"-m", "--socket-mem"});
  const bool ordinary = user_gave(config, {"--no-huge"});
  const std::uint64_t want = sized ? 1 : config.memory_mib * kMib;
  const std::uint64_t huge = facts.hugepage_free_bytes();
  if (!ordinary && huge < want)
    return error("memory: the EAL arguments ask for hugepages, ", huge / kMib, " MiB of them are free",
                 sized ? "" : text(", ", config.memory_mib, " MiB are needed"),
                 "; add --no-huge to them, or reserve some: echo ",
                 (config.memory_mib * kMib + 2 * kMib - 1) / (2 * kMib),
                 " > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
  // EAL's own default without hugepages is 64 MiB, which no pool fits in.
  const std::string mib = std::to_string(config.memory_mib);
  if (!sized) plan.args.insert(plan.args.end(), {"-m", mib});
  plan.notes.push_back("memory: as given in the EAL arguments" + (sized ? "" : ", " + mib + " MiB"));
  plan.uses_hugepages = !ordinary;
  return {};
}

Result<void> plan_memory(const EalConfig& config, const MachineFacts& facts, EalPlan& plan) {
  if (user_gave(config, {"-m", "--no-huge", "--in-memory", "--legacy-mem", "--huge-dir", "--socket-mem"}))
    return complete_memory(config, facts, plan);
  const std::string mib = std::to_string(config.memory_mib);
  const std::uint64_t want = config.memory_mib * kMib;
  const std::uint64_t huge = facts.hugepage_free_bytes();
  if (config.hugepages != Hugepages::kNever && huge >= want) {
    // In memory: neither a hugetlbfs mount nor files that stay behind. Single file segments: vhost-user and
    // memif hand out at most 8 descriptors for all of the memory.
    plan.args.insert(plan.args.end(), {"--in-memory", "--single-file-segments", "-m", mib});
    plan.notes.push_back(text("memory: ", mib, " MiB of hugepages (", huge / kMib, " MiB free)"));
    plan.uses_hugepages = true;
    return {};
  }
  if (config.hugepages == Hugepages::kRequire)
    return error("memory: ", mib, " MiB of hugepages are required, ", huge / kMib,
                 " MiB are free; reserve them: echo ", (want + 2 * kMib - 1) / (2 * kMib),
                 " > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
  if (facts.memory_available_bytes < want)
    return error("memory: ", mib, " MiB needed, ", facts.memory_available_bytes / kMib,
                 " MiB available; use fewer mbufs or queues, or end other programs");
  // EAL's default without hugepages is 64 MiB, which no pool fits in; --in-memory would be refused here.
  plan.args.insert(plan.args.end(), {"--no-huge", "-m", mib, "--no-shconf"});
  plan.notes.push_back(text(
      "memory: ", mib, " MiB of ordinary pages (",
      config.hugepages == Hugepages::kNever ? "as configured" : text(huge / kMib, " MiB of hugepages free"),
      ")"));
  return {};
}

std::string pci_driver(const MachineFacts& facts, const std::string& address) {
  std::error_code ec;
  const fs::path link = fs::read_symlink(fs::path(facts.pci_root) / address / "driver", ec);
  return ec ? "" : link.filename().string();
}

Result<void> check_pci(const std::string& device, const MachineFacts& facts, EalPlan& plan) {
  std::string address = device.substr(0, device.find(','));  // device arguments follow a comma
  if (std::ranges::count(address, ':') == 1) address = "0000:" + address;
  if (!fs::exists(fs::path(facts.pci_root) / address))
    return error("PCI device ", address, ": not on this machine; `dpdk-devbind.py --status` lists what is");
  const std::string driver = pci_driver(facts, address);
  static constexpr std::string_view kUserDrivers[] = {"vfio-pci", "igb_uio", "uio_pci_generic"};
  static constexpr std::string_view kSharedDrivers[] = {"mlx5_core",
                                                        "mlx4_core"};  // stay with the kernel's driver
  const bool user = std::ranges::find(kUserDrivers, driver) != std::end(kUserDrivers);
  const bool shared = std::ranges::find(kSharedDrivers, driver) != std::end(kSharedDrivers);
  if (!user && !shared)
    return error("PCI device ", address, ": its driver is ", driver.empty() ? "none" : driver,
                 ", DPDK needs vfio-pci; bind it: modprobe vfio-pci && dpdk-devbind.py --bind=vfio-pci ",
                 address,
                 facts.iommu ? ""
                             : " (this kernel has no IOMMU: first "
                               "`echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode`)");
  if (driver == "vfio-pci" && !facts.root && facts.memlock_bytes < std::numeric_limits<std::uint32_t>::max())
    return error("PCI device ", address, ": VFIO pins all memory, but this user may lock ",
                 facts.memlock_bytes / 1024, " KiB; raise it: ulimit -l unlimited (as root), or run as root");
  plan.args.insert(plan.args.end(), {"-a", device});
  return {};
}

Result<void> plan_devices(const EalConfig& config, const MachineFacts& facts, EalPlan& plan) {
  for (const std::string& device : config.pci_allow) {
    if (auto ok = check_pci(device, facts, plan); !ok) return ok;
  }
  // Without an allow-list EAL would probe every NIC, the one under our own management connection included.
  if (config.pci_allow.empty() && !user_gave(config, {"-a", "--allow", "-b", "--block", "--no-pci"})) {
    plan.args.emplace_back("--no-pci");
    // Nothing does DMA: virtual addresses need no right to read physical ones.
    if (!user_gave(config, {"--iova-mode"})) plan.args.emplace_back("--iova-mode=va");
  }
  for (const std::string& vdev : config.vdevs) {
    plan.args.insert(plan.args.end(), {"--vdev", vdev});
    const std::string name = vdev.substr(0, vdev.find(','));
    if (std::ranges::find(plan.vdev_names, name) != plan.vdev_names.end())
      return error("virtual device '", name, "' is listed twice; number them: net_ring0, net_ring1");
    plan.vdev_names.push_back(name);
  }
  plan.notes.push_back(text("devices: ", config.pci_allow.size(), " PCI, ", config.vdevs.size(), " virtual"));
  return {};
}

}  // namespace

EalConfig EalConfig::for_tests(unsigned lcores) {
  EalConfig config;
  config.program = "test";
  config.hugepages = Hugepages::kNever;
  const MachineFacts facts = read_machine_facts();
  config.cpus.assign(lcores, facts.cpus.empty() ? 0 : facts.cpus.front());
  return config;
}

std::string EalPlan::command_line() const {
  std::vector<std::string> words;
  for (const std::string& arg : args) words.push_back(shell_quoted(arg));
  return join(words, " ");
}

Result<EalPlan> plan_eal(const EalConfig& config, const MachineFacts& facts) {
  if (auto ok = check_limits(config); !ok) return ok.error();
  EalPlan plan;
  plan.args.push_back(config.program);
  if (auto ok = plan_lcores(config, facts, plan); !ok) return ok.error();
  if (auto ok = plan_memory(config, facts, plan); !ok) return ok.error();
  if (auto ok = plan_devices(config, facts, plan); !ok) return ok.error();
  if (!user_gave(config, {"--file-prefix"}))
    // Two processes on one machine must not share run-time files by accident.
    plan.args.push_back("--file-prefix=" +
                        (config.file_prefix.empty() ? text("softmrc-", getpid()) : config.file_prefix));
  if (!config.telemetry && !user_gave(config, {"--telemetry", "--no-telemetry"}))
    plan.args.emplace_back("--no-telemetry");
  if (!user_gave(config, {"--log-level"})) plan.args.push_back("--log-level=" + config.log_level);
  plan.args.insert(plan.args.end(), config.extra_args.begin(), config.extra_args.end());
  return plan;
}

std::vector<std::string> telling_lines(const std::string& output) {
  // Said at every start, whatever becomes of it.
  static constexpr std::string_view kBanner[] = {"EAL: Detected",     "EAL: Multi-process", "EAL: Selected",
                                                 "EAL: No available", "EAL: VFIO support",  "EAL: Probing",
                                                 "TELEMETRY:"};
  std::vector<std::string> out;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    const bool banner = std::ranges::any_of(kBanner, [&](auto sign) { return line.starts_with(sign); });
    if (!banner && !line.empty() && line.find("bpffs") == std::string::npos) out.push_back(line);
  }
  return out;
}

std::string explain_eal_failure(const std::string& output, const std::string& errno_text) {
  struct Known {
    std::string_view sign;
    std::string_view explanation;
  };
  // Signs first that name the cause most closely: EAL often prints several lines, and its lack of memory is
  // one "for hugepages" whatever pages it was to take.
  static constexpr Known kKnown[] = {
      {"unrecognized option", "an EAL argument is unknown; `dpdk-testpmd --help` lists them"},
      {"invalid option", "an EAL argument is unknown; `dpdk-testpmd --help` lists them"},
      {"requires an argument", "an EAL argument lacks its value; `dpdk-testpmd --help` lists them"},
      {"not compatible", "the EAL arguments contradict each other; give either --no-huge or --in-memory"},
      {"failed to parse device", "no driver has that name; `tools/doctor` lists the drivers found"},
      {"invalid core list", "a core of the list is not usable here; list usable CPUs: taskset -pc $$"},
      {"invalid lcores", "a core of the list is not usable here; list usable CPUs: taskset -pc $$"},
      {" unavailable", "a core of the list is not usable here; list usable CPUs: taskset -pc $$"},
      {"Cannot create lock on", "another process runs with the same --file-prefix; choose another"},
      {"no mounted hugetlbfs",
       "hugepages are reserved but no hugetlbfs is mounted; add --in-memory to the EAL arguments"},
      {"Cannot allocate memory",
       "the system gives no more memory; -m takes less, `ulimit -v` tells a limit, `free -m` what is there"},
      {"hugepage",
       "too few hugepages; use --no-huge -m 256, or reserve: echo 512 > "
       "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"},
  };
  // The first line names the cause; all the options follow when EAL prints its usage.
  const std::vector<std::string> lines = telling_lines(output.substr(0, output.find("Usage:")));
  const std::string words = join(lines, "\n");
  std::string first = lines.empty() ? "" : lines.front();
  if (first.starts_with("EAL: ")) first.erase(0, 5);
  std::string message = "DPDK did not start: ";
  for (const Known& known : kKnown) {
    if (words.find(known.sign) != std::string::npos) {
      message += known.explanation;
      return first.empty() ? message : message + " (EAL says: " + first + ")";
    }
  }
  return message + (first.empty() ? errno_text : "EAL says: " + first) +
         "; `tools/doctor` looks for what is missing";
}

}  // namespace mrc::ethdev
