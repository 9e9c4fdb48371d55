#include "agent_host/temporary_file.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

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
  void remove(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (paths_.erase(path) != 0) unlink(path.c_str());
  }

 private:
  std::mutex mutex_;
  std::set<std::string> paths_;
};

Left& left() {
  static Left files;
  return files;
}
}  // namespace

std::string TemporaryFile::write(std::span<const std::uint8_t> bytes) {
  std::string path = (std::filesystem::temp_directory_path() / "refhist-code-XXXXXX").string();
  const int file = mkstemp(path.data());
  if (file < 0) return {};
  left().add(path);
  const bool whole = ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  close(file);
  if (whole) return path;
  remove(path);
  return {};
}

void TemporaryFile::remove(const std::string& path) { left().remove(path); }

}  // namespace refhist
