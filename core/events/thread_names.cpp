#include "events/thread_names.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/text.h"

namespace refhist {

namespace {
constexpr std::size_t kMostFiles = 64;  // a program may have more threads than we may open files

std::optional<std::string> read_name(int file) {
  char text[64];
  const ssize_t size = pread(file, text, sizeof text, 0);
  if (size <= 0) return std::nullopt;  // the thread has ended; its id may be another's now
  return std::string(trim(std::string_view(text, static_cast<std::size_t>(size))));
}
}  // namespace

std::optional<std::string> ThreadNames::name(long pid, long tid) {
  const auto known = files_.find(tid);
  if (known != files_.end()) {
    if (auto name = read_name(known->second)) return name;
    close(known->second);
    files_.erase(known);
  }
  const int file = open(fmt::format("/proc/{}/task/{}/comm", pid, tid).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  if (files_.size() >= kMostFiles) forget();
  files_.emplace(tid, file);
  return read_name(file);
}

void ThreadNames::forget() {
  for (const auto& [tid, file] : files_) close(file);
  files_.clear();
}

}  // namespace refhist
