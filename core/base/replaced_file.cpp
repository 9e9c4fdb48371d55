#include "base/replaced_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"

namespace refhist {

namespace {
bool is_stream(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}
}  // namespace

ReplacedFile::ReplacedFile(const std::string& path)
    : path_(path), unfinished_(fmt::format("{}.part-{}", path, getpid())) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) fail("it is no regular file");
  unlink(unfinished_.c_str());
}

ReplacedFile::~ReplacedFile() { unlink(unfinished_.c_str()); }

std::uint64_t ReplacedFile::finish() {
  const int file = ::open(unfinished_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  const bool safe = file >= 0 && fsync(file) == 0 && fstat(file, &status) == 0;
  const int why = errno;
  if (file >= 0) ::close(file);
  if (!safe) fail("{}", std::strerror(why));
  if (rename(unfinished_.c_str(), path_.c_str()) != 0) fail("{}", std::strerror(errno));
  return static_cast<std::uint64_t>(status.st_size);
}

void replace_file(const std::string& path, std::string_view text) {
  const auto write = [&](const std::string& to) {
    std::ofstream out(to, std::ios::binary);
    out << text;
    out.close();
    if (!out) fail("{}", std::strerror(errno));
  };
  try {
    if (is_stream(path)) return write(path);
    ReplacedFile file(path);
    write(file.unfinished());
    file.finish();
  } catch (const Error& error) {
    fail("{} could not be written: {}", path, error.what());
  }
}

}  // namespace refhist
