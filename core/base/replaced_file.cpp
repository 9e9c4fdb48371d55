#include "base/replaced_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "base/error.h"
#include "base/open_file.h"

namespace refhist {

namespace {

constexpr mode_t kRights = 0666;  // less what the user's umask takes away
constexpr int kAttempts = 100;

bool is_stream(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("{}", std::strerror(errno));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// What open(2) has returned; throws where that is no descriptor.
int opened(int file) {
  if (file < 0) fail("{}", std::strerror(errno));
  return file;
}

/// A pipe that nobody reads is told of, and not waited for.
void write_stream(const std::string& path, std::string_view text) {
  const OpenFile file(opened(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)));
  fcntl(file.number(), F_SETFL, fcntl(file.number(), F_GETFL) & ~O_NONBLOCK);
  write_all(file.number(), text);
}

}  // namespace

// Whoever else may write into the folder (/tmp) must not choose what is written: the file is ours alone, and
// a link in the place of the old one is replaced, not followed.
ReplacedFile::ReplacedFile(const std::string& path) : path_(path) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) fail("it is not a regular file");
  std::random_device random;
  int file = -1;
  for (int i = 0; i < kAttempts && file < 0; ++i) {
    unfinished_ = fmt::format("{}.part-{:08x}", path, random());
    file = ::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kRights);
    if (file < 0 && errno != EEXIST) break;
  }
  if (file < 0) {
    unfinished_.clear();
    fail("{}", std::strerror(errno));
  }
  ::close(file);
}

ReplacedFile::~ReplacedFile() {
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
}

std::uint64_t ReplacedFile::finish() {
  const OpenFile file(opened(::open(unfinished_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)));
  struct stat status {};
  if (fsync(file.number()) != 0 || fstat(file.number(), &status) != 0) fail("{}", std::strerror(errno));
  if (rename(unfinished_.c_str(), path_.c_str()) != 0) fail("{}", std::strerror(errno));
  unfinished_.clear();
  return static_cast<std::uint64_t>(status.st_size);
}

void expect_replaceable(const std::string& path) {
  try {
    if (!is_stream(path)) const ReplacedFile replaced(path);
  } catch (const Error& error) {
    fail("{} could not be written: {}", path, error.what());
  }
}

void replace_file(const std::string& path, std::string_view text) {
  try {
    if (is_stream(path)) return write_stream(path, text);
    ReplacedFile replaced(path);
    {
      const OpenFile file(opened(::open(replaced.unfinished().c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC)));
      write_all(file.number(), text);
    }
    replaced.finish();
  } catch (const Error& error) {
    fail("{} could not be written: {}", path, error.what());
  }
}

}  // namespace refhist
