#include "guard/newborn_children.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/folder_entries.h"
#include "base/open_file.h"
#include "base/process_file.h"
#include "base/task_status.h"

namespace refhist::guard {

namespace {
constexpr double kNewborn = 1;  // seconds

std::string path_of(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

int open_of(pid_t pid, const char* name, int how) {
  return open(path_of(pid, name).c_str(), how | O_CLOEXEC);
}

/// Since it was born. Endless where nobody knows.
double age_of(pid_t pid) {
  constexpr int kStart = 20;  // words behind the name
  std::ifstream file(path_of(pid, "stat"));
  std::string line;
  if (!std::getline(file, line)) return 1e9;
  std::istringstream words(line.substr(line.rfind(')') + 1));
  std::string word;
  for (int i = 0; i < kStart; ++i) words >> word;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9 -
         std::strtod(word.c_str(), nullptr) / ticks;
}
}  // namespace

void NewbornChildren::find() {
  for (const auto& task : entries_of(path_of(parent_, "task"))) {
    std::ifstream children(task / "children");
    for (pid_t pid = 0; children >> pid;) {
      if (known_.find(pid) == known_.end()) known_[pid].pidfd = open_process(pid);
    }
  }
}

void NewbornChildren::mend(const MendedCode& code) {
  find();
  for (auto& [pid, child] : known_) {
    const OpenFile memory(open_of(pid, "mem", O_RDWR));
    child.mended = (memory.number() >= 0 && code.mend_copy(memory.number())) || child.mended;
  }
}

void NewbornChildren::mend_fully() {
  find();
  for (auto& [pid, child] : known_) {
    if (child.searched) continue;
    child.searched = true;
    const OpenFile memory(open_of(pid, "mem", O_RDWR));
    const OpenFile maps(open_of(pid, "maps", O_RDONLY));
    const OpenFile pages(open_of(pid, "pagemap", O_RDONLY));
    if (memory.number() < 0 || maps.number() < 0 || pages.number() < 0) continue;
    child.mended = MendedCode(pid, {memory.number(), maps.number(), pages.number()}).mend() || child.mended;
  }
}

void NewbornChildren::go_on() {
  for (const auto& [pid, child] : known_) {
    if (!task_status(pid, "State").starts_with('T') || is_traced(pid)) continue;
    if (child.mended || age_of(pid) < kNewborn) signal_process(child.pidfd, SIGCONT);
  }
}

}  // namespace refhist::guard
