#include "runner/waiting_child.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.h"

namespace refhist {

namespace {

constexpr std::string_view kJumpToItself = "\xeb\xfe";

/// The memory of a process, as /proc has it.
class ChildMemory {
 public:
  explicit ChildMemory(long pid)
      : file_(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC)) {}
  ~ChildMemory() {
    if (file_ >= 0) close(file_);
  }
  ChildMemory(const ChildMemory&) = delete;
  ChildMemory& operator=(const ChildMemory&) = delete;

  [[nodiscard]] bool read(Address address, std::string& bytes) const {
    return pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(address)) ==
           static_cast<ssize_t>(bytes.size());
  }
  [[nodiscard]] bool write(Address address, std::string_view bytes) const {
    return pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(address)) ==
           static_cast<ssize_t>(bytes.size());
  }

 private:
  int file_;
};

}  // namespace

bool put_code_back(const WaitingChild& child) {
  std::string code;
  for (std::size_t i = 0; i + 1 < child.code.size(); i += 2)
    code += static_cast<char>(std::stoi(child.code.substr(i, 2), nullptr, 16));
  // The number may mean another process by now; what has been opened stays the same one.
  const ChildMemory memory(child.pid);
  std::string there(kJumpToItself.size(), '\0');
  return memory.read(child.pc, there) && there == kJumpToItself && memory.write(child.pc, code);
}

WaitingChild make_wait(long pid, long parent, Address pc) {
  const ChildMemory memory(pid);
  std::string code(kJumpToItself.size(), '\0');
  if (!memory.read(pc, code) || !memory.write(pc, kJumpToItself))
    fail("its code cannot be written: {}", std::strerror(errno));
  WaitingChild child{pid, parent, pc, {}};
  for (const char byte : code) child.code += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return child;
}

}  // namespace refhist
