#include "runner/inherited.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <fstream>
#include <string>

#include "base/folder_entries.h"

namespace refhist {

namespace {

/// A number in hexadecimal, of the line that begins so.
std::uint64_t status_word(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoull(line.substr(name.size()), nullptr, 16);
  }
  return 0;
}

}  // namespace

Inherited Inherited::take() {
  Inherited inherited;
  inherited.ignored = status_word("SigIgn:");
  inherited.blocked = status_word("SigBlk:");
  for (const auto& entry : entries_of("/proc/self/fd")) {
    const std::string name = entry.filename().string();
    int file = 0;
    std::from_chars(name.data(), name.data() + name.size(), file);
    if (fcntl(file, F_GETFD) != 0) continue;  // closed by exec, or the folder itself, which is closed again
    if (file > STDERR_FILENO) fcntl(file, F_SETFD, FD_CLOEXEC);
    inherited.files.push_back(file);
  }
  std::sort(inherited.files.begin(), inherited.files.end());
  // Whoever ignores this cannot wait for a child.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  return inherited;
}

}  // namespace refhist
