// refhist-exec: what the debugger takes for a shell when refhist-run starts it. See launch_message.h.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/close_files.h"
#include "runner/launch_message.h"

namespace {

constexpr int kCannotRun = 127;

int connect_to(const char* path) {
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (file < 0 || connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  return file;
}

bool receive_text(int from, std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t part = read(from, text.data() + done, text.size() - done);
    if (part <= 0) return false;
    done += static_cast<std::size_t>(part);
  }
  return true;
}

std::vector<char*> strings_of(std::string& text) {
  std::vector<char*> strings;
  for (std::size_t at = 0; at < text.size(); at += std::strlen(text.data() + at) + 1)
    strings.push_back(text.data() + at);
  return strings;
}

/// Words of the text, one after the other.
class Words {
 public:
  explicit Words(std::vector<char*> words) : words_(std::move(words)) {}
  char* next() { return words_[at_++]; }
  std::uint64_t number() { return std::strtoull(next(), nullptr, 10); }
  std::vector<char*> next(std::size_t count) {
    std::vector<char*> taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(next());
    taken.push_back(nullptr);
    return taken;
  }
  [[nodiscard]] std::size_t left() const { return words_.size() - at_; }

 private:
  std::vector<char*> words_;
  std::size_t at_ = 0;
};

/// -1 when it came without a file.
int receive_file(int from) {
  refhist::FileMessage one;
  if (recvmsg(from, &one.message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&one.message);
  if (header == nullptr || header->cmsg_len != CMSG_LEN(sizeof(int))) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  return file;
}

/// The debugger's own files are closed. Everything that is still needed lies above those that are wanted
/// until these are in place.
void use_files(int& socket, const std::vector<int>& wanted) {
  const int above = wanted.empty() ? 0 : wanted.back() + 1;
  const auto lifted = [&](int file) {
    const int copy = fcntl(file, F_DUPFD_CLOEXEC, above);
    close(file);
    return copy;
  };
  socket = lifted(socket);
  std::vector<int> copies;
  for (std::size_t i = 0; i < wanted.size(); ++i) copies.push_back(lifted(receive_file(socket)));
  std::set<unsigned> kept{static_cast<unsigned>(socket)};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (copies[i] < 0) continue;
    dup2(copies[i], wanted[i]);
    kept.insert(static_cast<unsigned>(wanted[i]));
  }
  refhist::close_all_but(kept);
}

/// As the kernel has it: the C library keeps two of the signals to itself.
struct KernelAction {
  void (*handler)(int) = nullptr;
  unsigned long flags = 0;
  void (*restorer)() = nullptr;
  std::uint64_t mask = 0;
};

void use_signals(std::uint64_t ignored, std::uint64_t blocked) {
  constexpr int kSignals = 64;
  for (int signal = 1; signal <= kSignals; ++signal) {
    KernelAction action;
    action.handler = ((ignored >> (signal - 1)) & 1) != 0 ? SIG_IGN : SIG_DFL;
    syscall(SYS_rt_sigaction, signal, &action, nullptr, sizeof action.mask);
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, nullptr, sizeof blocked);
}

[[noreturn]] void become(int socket, Words words) {
  const auto group = static_cast<pid_t>(words.number());
  const std::uint64_t ignored = words.number();
  const std::uint64_t blocked = words.number();
  std::vector<int> files(words.number());
  for (int& file : files) file = static_cast<int>(words.number());
  char* const program = words.next();
  const std::vector<char*> arguments = words.next(words.number());
  const std::vector<char*> environment = words.next(words.left());
  setpgid(0, group);
  use_files(socket, files);
  use_signals(ignored, blocked);
  execve(program, arguments.data(), environment.data());
  const std::string why = std::strerror(errno);
  if (write(socket, why.data(), why.size()) < 0) std::perror(program);
  _exit(kCannotRun);
}

}  // namespace

int main() {
  const char* path = std::getenv(refhist::kLaunchSocket);
  const int socket = path == nullptr ? -1 : connect_to(path);
  std::string length(sizeof(std::uint64_t), '\0');
  if (socket < 0 || !receive_text(socket, length)) {
    std::fputs("refhist-exec is a part of refhist-run, and does nothing by itself\n", stderr);
    return kCannotRun;
  }
  std::uint64_t size = 0;
  std::memcpy(&size, length.data(), sizeof size);
  std::string text(size, '\0');
  if (!receive_text(socket, text)) return kCannotRun;
  become(socket, Words(strings_of(text)));
}
