// SPDX-License-Identifier: BSD-3-Clause
#include "ethdev/eal.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <utility>

#include "ethdev/caps.h"
#include "ethdev/capture.h"
#include "ethdev/text.h"
#include "ethdev/vdev.h"

namespace mrc::ethdev {
namespace {

std::atomic<bool> eal_was_started{false};

cpu_set_t affinity_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  return set;
}

/// Run-time directories that killed processes of ours left behind ("softmrc-PID" with a PID that is gone).
void remove_stale_directories(const std::filesystem::path& parent) {
  std::error_code ec;
  constexpr std::string_view kPrefix = "softmrc-";
  for (const auto& entry : std::filesystem::directory_iterator(parent, ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    pid_t pid = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, pid);
    if (parsed.ec != std::errc{} || parsed.ptr != end || pid <= 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path(), ec);
  }
}

/// The directory of this process goes, also after a start that failed half-way.
void remove_runtime_directory() {
  const std::filesystem::path directory = rte_eal_get_runtime_dir();
  if (directory.empty()) return;
  std::error_code ec;
  // A name the user chose may be shared with other processes: then only an empty directory goes.
  if (directory.filename() == text("softmrc-", getpid())) std::filesystem::remove_all(directory, ec);
  std::filesystem::remove(directory, ec);
  remove_stale_directories(directory.parent_path());
}

/// rte_eal_init with output captured; the calling thread's affinity is restored whatever happens.
int start_eal(const EalPlan& plan, std::string& output) {
  // EAL permutes argv and keeps pointers into it, so both live as long as the process.
  static std::vector<std::string> words;
  static std::vector<char*> argv;
  words = plan.args;
  argv.clear();
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const cpu_set_t before = affinity_of_this_thread();
  // EAL creates its run-time files readable for everybody unless told otherwise.
  const mode_t old_mask = umask(077);
  OutputCapture capture;
  const int rc = rte_eal_init(static_cast<int>(words.size()), argv.data());
  output = capture.stop();
  umask(old_mask);
  sched_setaffinity(0, sizeof(before), &before);
  return rc;
}

std::string lines_about(const std::string& output, const std::string& fallback) {
  std::vector<std::string> lines = telling_lines(output);  // the first two name the cause
  if (lines.size() > 3) lines.resize(3);
  return lines.empty() ? fallback : join(lines, " | ");
}

Result<void> check_vdevs(const EalPlan& plan, const std::string& output) {
  for (const std::string& name : plan.vdev_names) {
    std::uint16_t port = 0;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0)
      return error("virtual device '", name, "' did not start: ",
                   lines_about(output, "no such driver; `tools/doctor` lists the drivers found"));
  }
  return {};
}

}  // namespace

struct Eal::State {
  EalPlan plan;
  std::string output;

  ~State() {
    // A memif device stays in EAL's interrupt list (Port::close), which the clean-up would pull the memory
    // from under.
    const auto is_memif = [](const std::string& name) { return driver_of_name(name) == Driver::kMemif; };
    if (std::ranges::none_of(plan.vdev_names, is_memif)) rte_eal_cleanup();
    remove_runtime_directory();
  }
};

Eal::Eal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Eal::Eal(Eal&&) noexcept = default;
Eal& Eal::operator=(Eal&&) noexcept = default;
Eal::~Eal() = default;

const EalPlan& Eal::plan() const {
  return state_->plan;
}
const std::string& Eal::start_output() const {
  return state_->output;
}

Result<Eal> Eal::init(const EalConfig& config) {
  auto plan = plan_eal(config, read_machine_facts());
  if (!plan) return plan.error();
  for (const std::string& vdev : config.vdevs) {
    if (auto ok = prepare_vdev(vdev); !ok)
      return error("virtual device '", vdev.substr(0, vdev.find(',')), "': ", ok.error().message);
  }
  if (eal_was_started.exchange(true)) return error("DPDK: already started in this process; it starts once");

  std::string output;
  if (start_eal(*plan, output) < 0) {
    const std::string reason = rte_strerror(rte_errno);
    remove_runtime_directory();
    return Error{explain_eal_failure(output, reason)};
  }
  // virtio-user writes to its peer's socket without MSG_NOSIGNAL: a peer that left must be an error, not our
  // end.
  struct sigaction action {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
    std::signal(SIGPIPE, SIG_IGN);
  auto state = std::make_unique<State>();
  state->plan = *std::move(plan);
  state->output = std::move(output);
  if (auto ok = check_vdevs(state->plan, state->output); !ok) return ok.error();
  return Eal(std::move(state));
}

bool set_this_thread_cpus(const std::vector<unsigned>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus) {
    if (cpu >= CPU_SETSIZE) return false;
    CPU_SET(cpu, &set);
  }
  return !cpus.empty() && sched_setaffinity(0, sizeof(set), &set) == 0;
}

bool pin_this_thread_to_lcore(unsigned lcore) {
  if (lcore >= RTE_MAX_LCORE || rte_lcore_is_enabled(lcore) == 0) return false;
  const cpu_set_t set = rte_lcore_cpuset(lcore);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

std::vector<unsigned> this_thread_cpus() {
  const cpu_set_t set = affinity_of_this_thread();
  std::vector<unsigned> out;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) out.push_back(cpu);
  }
  return out;
}

}  // namespace mrc::ethdev
