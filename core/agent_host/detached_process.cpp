#include "agent_host/detached_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>

namespace refhist {

namespace {

std::vector<pid_t> threads_of(long pid) {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(fmt::format("/proc/{}/task", pid).c_str()),
                                                   closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (const pid_t tid = std::atoi(entry->d_name); tid > 0) threads.push_back(tid);
  }
  return threads;
}

// A zombie has none.
bool has_memory(long pid) {
  std::ifstream pages(fmt::format("/proc/{}/statm", pid));
  unsigned long count = 0;
  return pages >> count && count != 0;
}

// Every thread of the process stands still as long as this lives.
class StoppedThreads {
 public:
  explicit StoppedThreads(long pid) {
    for (bool found = true; found;) {  // a thread may have started others meanwhile
      found = false;
      for (const pid_t tid : threads_of(pid)) found = (!held_.contains(tid) && hold(tid)) || found;
    }
  }
  ~StoppedThreads() {
    for (const pid_t tid : held_) ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
  }
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  [[nodiscard]] bool any() const { return !held_.empty(); }
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  bool hold(pid_t tid) {
    if (ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) != 0) {
      why_not_ = std::strerror(errno);
      return false;
    }
    held_.insert(tid);
    int status = 0;
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    waitpid(tid, &status, __WALL);
    return true;
  }

  std::set<pid_t> held_;
  std::string why_not_;
};

}  // namespace

std::string write_code_of_detached(long pid, const std::vector<CodeBytes>& code) {
  const StoppedThreads stopped(pid);
  if (!stopped.any()) return has_memory(pid) ? stopped.why_not() : "";
  const int memory = open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC);
  if (memory < 0) return std::strerror(errno);
  std::string why_not;
  for (const CodeBytes& bytes : code) {
    std::vector<std::uint8_t> there(bytes.expected.size());
    const auto at = static_cast<off_t>(bytes.address);
    if (pread(memory, there.data(), there.size(), at) != static_cast<ssize_t>(there.size()) ||
        there != bytes.expected) {
      continue;  // unmapped meanwhile, or somebody else's
    }
    if (pwrite(memory, bytes.wanted.data(), bytes.wanted.size(), at) !=
        static_cast<ssize_t>(bytes.wanted.size())) {
      why_not = std::strerror(errno);
    }
  }
  close(memory);
  return why_not;
}

}  // namespace refhist
