#include "reachability/kernel_pointers.h"

#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/folder_entries.h"

namespace refhist {

namespace {
namespace fs = std::filesystem;

/// The word behind the first `mark` in the line; 0 when there is none. The kernel writes no 0x.
Address word_behind(const std::string& line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + mark.size(), nullptr, 16);
}

// tfd:        5 events:       19 data:     5555555592a0  pos:0 ino:1 sdev:e
void add_epoll_data(const fs::path& fdinfo, std::vector<RegisterRoot>& roots) {
  std::ifstream file(fdinfo);
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kDescriptor = "tfd:";
    const Address data = word_behind(line, "data:");
    if (!line.starts_with(kDescriptor) || data == 0) continue;
    roots.push_back({data, fmt::format("epoll data for descriptor {}",
                                       std::strtol(line.c_str() + kDescriptor.size(), nullptr, 10))});
  }
}

// ID: 1
// signal: 34/00005555555592a0
void add_timers(long pid, std::vector<RegisterRoot>& roots) {
  std::ifstream file(fmt::format("/proc/{}/timers", pid));
  std::string number;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("ID: ")) number = line.substr(4);
    if (!line.starts_with("signal: ")) continue;
    if (const Address value = word_behind(line, "/"); value != 0)
      roots.push_back({value, fmt::format("value of timer {}", number)});
  }
}

}  // namespace

std::vector<RegisterRoot> kernel_pointers(const ProcessInfo& process) {
  std::vector<RegisterRoot> roots;
  if (!process.local || process.pid == 0) return roots;
  for (const fs::path& descriptor : entries_of(fmt::format("/proc/{}/fd", process.pid))) {
    std::error_code error;
    if (fs::read_symlink(descriptor, error) != "anon_inode:[eventpoll]" || error) continue;
    add_epoll_data(fmt::format("/proc/{}/fdinfo/{}", process.pid, descriptor.filename().string()), roots);
  }
  add_timers(process.pid, roots);
  return roots;
}

}  // namespace refhist
