#include "agent_host/temporary_file.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>

#include "base/folder_entries.h"

namespace refhist {

namespace {
// A debugger may end in the middle of a session, without a word to us.
class Left {
 public:
  ~Left() {
    for (const std::string& path : paths_) unlink(path.c_str());
  }
  void add(const std::string& path) {
    const std::lock_guard lock(mutex_);
    paths_.insert(path);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

/// Process ids mean something in one namespace only.
std::string pid_namespace() {
  std::error_code none;
  const std::string link =
      std::filesystem::read_symlink("/proc/self/ns/pid", none).string();  // pid:[4026531836]
  const std::size_t begin = link.find('[');
  return begin == std::string::npos ? "0" : link.substr(begin + 1, link.size() - begin - 2);
}

/// "refhist-code-4026531836-": behind it the number of the debugger's process, and what makes the name new.
std::string prefix() { return fmt::format("refhist-code-{}-", pid_namespace()); }

/// Debuggers that were killed have left theirs.
void remove_those_of_the_dead(const std::filesystem::path& folder) {
  const std::string begin = prefix();
  for (const auto& entry : entries_of(folder)) {
    const std::string name = entry.filename().string();
    if (!name.starts_with(begin)) continue;
    const long pid = std::strtol(name.c_str() + begin.size(), nullptr, 10);
    const bool gone = pid > 0 && kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
    if (gone) unlink(entry.c_str());
  }
}

Left& left() {
  static Left files;
  return files;
}
}  // namespace

std::string TemporaryFile::own_beginning() {
  std::error_code none;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(none);
  return none ? std::string() : (folder / fmt::format("{}{}-", prefix(), getpid())).string();
}

std::string TemporaryFile::write(std::span<const std::uint8_t> bytes) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  static std::once_flag once;
  std::call_once(once, remove_those_of_the_dead, folder);
  std::string path = own_beginning() + "XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return {};
  left().add(path);
  const bool whole = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(file);
  if (whole) return path;
  unlink(path.c_str());
  return {};
}

}  // namespace refhist
