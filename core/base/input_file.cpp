#include "base/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace refhist {

InputFile::InputFile(const std::string& path)
    : path_(path), file_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
  if (file_.number() < 0) fail("{}: {}", path, std::strerror(errno));
  struct stat status {};
  const bool regular = fstat(file_.number(), &status) == 0 && S_ISREG(status.st_mode);
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (!regular) fail("{}: not a regular file", path);
}

// Not more than its size: files of /proc have none, and one that grows has no end.
std::string InputFile::text(std::uint64_t most) const {
  if (size_ > most) fail("{}: larger than {}", path_, bytes_text(most));
  std::string text(size_, '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t read =
        pread(file_.number(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) fail("{}: {}", path_, std::strerror(errno));
    if (read == 0) break;
    done += static_cast<std::size_t>(read);
  }
  text.resize(done);
  return text;
}

}  // namespace refhist
