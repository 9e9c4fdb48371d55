#include "base/task_status.h"

#include <fmt/core.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace refhist {

std::string task_status(long pid, std::string_view field, long tid) {
  std::ifstream status(tid == 0 ? fmt::format("/proc/{}/status", pid)
                                : fmt::format("/proc/{}/task/{}/status", pid, tid));
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(field) || line[field.size()] != ':') continue;
    const std::size_t value = line.find_first_not_of(" \t", field.size() + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

bool is_thread_of(long pid, long tid) {
  return access(fmt::format("/proc/{}/task/{}", pid, tid).c_str(), F_OK) == 0;
}

// Where the kernel does not compare, whatever has the number may be it.
bool runs_in_memory_of(long pid, long tid) {
  if (is_thread_of(pid, tid)) return true;
  const long difference = syscall(SYS_kcmp, pid, tid, KCMP_VM, 0, 0);
  return difference == 0 || (difference < 0 && errno != ESRCH);
}

bool is_traced(long pid) {
  const std::string tracer = task_status(pid, "TracerPid");
  return !tracer.empty() && tracer != "0";
}

}  // namespace refhist
