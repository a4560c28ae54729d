// SPDX-License-Identifier: BSD-3-Clause
#include "pool.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "fault_run.h"

namespace mrc::fault {
namespace {

constexpr unsigned kMostJobs = 256;
constexpr std::uint64_t kFlushEvery = 50;  ///< runs of a process between two reports to the pool

/// What the processes share.
struct Shared {
  std::atomic<std::uint64_t> next_seed{0};
  std::atomic<std::uint64_t> counted{0};
  std::atomic<bool> stop{false};
  std::array<std::atomic<std::uint64_t>, kMostJobs> running{};  ///< seed of each process
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "shared between processes");

std::atomic<bool>* stop_flag = nullptr;  // NOLINT: for the signal handler
void on_signal(int) {
  if (stop_flag != nullptr) stop_flag->store(true);
}

/// A process: one line of text a fact, to the pool.
class Worker {
 public:
  Worker(Shared& shared, const PoolOptions& o, unsigned slot, int fd)
      : shared_(shared), o_(o), slot_(slot), out_(fdopen(fd, "w")) {
    // The pool decides when to stop.
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    if (o.quiet) dup2(fd, STDERR_FILENO);
  }

  void work() {
    while (!shared_.stop && (o_.runs == 0 || shared_.counted < o_.runs)) {
      const std::uint64_t seed = shared_.next_seed++;
      shared_.running[slot_] = seed;
      watchdog(o_.seconds_a_run);
      const Scenario scenario = make_scenario(seed);
      const RunResult r = fault::run(scenario);
      watchdog(0);
      if (!r.failure.empty()) {
        fprintf(out_, "@F %llu %s: %s\n", static_cast<unsigned long long>(seed), name(scenario.kind),
                r.failure.c_str());
        if (o_.stop_at_failure) shared_.stop = true;
        flush();
        continue;
      }
      coverage_ += r.coverage;
      packets_ += r.packets;
      ++(r.counts ? counted_ : idle_);
      if (r.counts) ++shared_.counted;
      if (counted_ + idle_ >= kFlushEvery) flush();
    }
    flush();
    fclose(out_);
  }

 private:
  static void watchdog(double seconds) {
    itimerval t{};
    t.it_value.tv_sec = static_cast<time_t>(seconds);
    setitimer(ITIMER_PROF, &t, nullptr);
  }
  void flush() {
    for (const auto& [what, count] : coverage_.counts())
      fprintf(out_, "@C %llu %llu %s\n", static_cast<unsigned long long>(count.times),
              static_cast<unsigned long long>(count.runs), what.c_str());
    fprintf(out_, "@R %llu %llu %llu\n", static_cast<unsigned long long>(counted_),
            static_cast<unsigned long long>(idle_), static_cast<unsigned long long>(packets_));
    fflush(out_);
    coverage_.clear();
    counted_ = idle_ = packets_ = 0;
  }

  Shared& shared_;
  const PoolOptions& o_;
  const unsigned slot_;
  FILE* out_;
  Coverage coverage_;
  std::uint64_t counted_ = 0;
  std::uint64_t idle_ = 0;
  std::uint64_t packets_ = 0;
};

class Pool {
 public:
  Pool(const PoolOptions& o, const std::function<void(const PoolResult&)>& report,
       const std::function<void(const Failure&)>& failed)
      : o_(o), report_(report), failed_(failed) {
    void* at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no shared memory for the processes");
    shared_ = new (at) Shared;
    shared_->next_seed = o.first_seed;
    stop_flag = &shared_->stop;
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
  }
  ~Pool() {
    stop_flag = nullptr;
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    munmap(shared_, sizeof(Shared));
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  PoolResult run() {
    children_.resize(std::clamp(o_.jobs, 1U, kMostJobs));
    for (unsigned slot = 0; slot < children_.size(); ++slot) start(slot);
    while (std::any_of(children_.begin(), children_.end(), [](const Child& c) { return c.fd >= 0; }))
      listen();
    std::sort(result_.failures.begin(), result_.failures.end(),
              [](const Failure& a, const Failure& b) { return a.seed < b.seed; });
    result_.next_seed = shared_->next_seed;
    result_.seconds = elapsed();
    return std::move(result_);
  }

 private:
  struct Child {
    pid_t pid = 0;
    int fd = -1;
    std::string text;        ///< not yet a whole line
    std::string last_words;  ///< of a quiet one
  };

  [[nodiscard]] double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  void start(unsigned slot) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    std::fflush(stdout);
    const pid_t pid = fork();
    if (pid < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    if (pid == 0) {
      close(ends[0]);
      Worker(*shared_, o_, slot, ends[1]).work();
      std::_Exit(0);
    }
    close(ends[1]);
    children_[slot] = {pid, ends[0], {}, {}};
  }

  void listen() {
    std::vector<pollfd> fds;
    std::vector<unsigned> slots;
    for (unsigned slot = 0; slot < children_.size(); ++slot) {
      if (children_[slot].fd < 0) continue;
      fds.push_back({children_[slot].fd, POLLIN, 0});
      slots.push_back(slot);
    }
    (void)poll(fds.data(), fds.size(), 1000);
    if (o_.seconds > 0 && elapsed() >= o_.seconds) shared_->stop = true;
    for (std::size_t i = 0; i < fds.size(); ++i)
      if (fds[i].revents != 0) hear(slots[i]);
    result_.next_seed = shared_->next_seed;
    result_.seconds = elapsed();
    if (o_.report_every != 0 && report_ && result_.counted / o_.report_every != reported_) {
      reported_ = result_.counted / o_.report_every;
      report_(result_);
    }
  }

  void hear(unsigned slot) {
    Child& child = children_[slot];
    std::array<char, 65536> bytes;
    const ssize_t n = read(child.fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) return gone(slot);
    child.text.append(bytes.data(), static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end; (end = child.text.find('\n', begin)) != std::string::npos; begin = end + 1)
      understand(child, child.text.substr(begin, end - begin));
    child.text.erase(0, begin);
  }

  void understand(Child& child, const std::string& line) {
    unsigned long long a = 0, b = 0, c = 0;
    int used = 0;
    if (std::sscanf(line.c_str(), "@C %llu %llu %n", &a, &b, &used) == 2 && used != 0) {
      result_.coverage.add(line.substr(static_cast<std::size_t>(used)), {a, b});
    } else if (std::sscanf(line.c_str(), "@R %llu %llu %llu", &a, &b, &c) == 3) {
      result_.counted += a;
      result_.idle += b;
      result_.packets += c;
    } else if (std::sscanf(line.c_str(), "@F %llu %n", &a, &used) == 1 && used != 0) {
      fail({a, line.substr(static_cast<std::size_t>(used))});
    } else if (child.last_words.empty()) {
      child.last_words = line;
    }
  }

  void fail(Failure failure) {
    if (failed_) failed_(failure);
    result_.failures.push_back(std::move(failure));
    if (o_.stop_at_failure) shared_->stop = true;
  }

  // The end of a process: as it should be, or in the middle of a run.
  void gone(unsigned slot) {
    Child& child = children_[slot];
    close(std::exchange(child.fd, -1));
    int status = 0;
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    std::string what = signal == SIGPROF
                           ? "no end after " + std::to_string(static_cast<int>(o_.seconds_a_run)) +
                                 " s of processor time (I3)"
                       : signal != 0 ? std::string("killed: ") + strsignal(signal)
                                     : "the process ended with " + std::to_string(WEXITSTATUS(status));
    if (!child.last_words.empty()) what += ": " + child.last_words;
    fail({shared_->running[slot], what});
    if (!shared_->stop) start(slot);
  }

  const PoolOptions& o_;
  const std::function<void(const PoolResult&)>& report_;
  const std::function<void(const Failure&)>& failed_;
  Shared* shared_ = nullptr;
  std::vector<Child> children_;
  PoolResult result_;
  std::uint64_t reported_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

PoolResult run_seeds(const PoolOptions& options, const std::function<void(const PoolResult&)>& report,
                     const std::function<void(const Failure&)>& failed) {
  return Pool(options, report, failed).run();
}

}  // namespace mrc::fault
