// refhist-exec: what the debugger takes for a shell when refhist-run starts it. See launch_message.h.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runner/launch_message.h"

namespace {

using refhist::kLaunchedFiles;

constexpr int kCannotRun = 127;

int connect_to(const char* path) {
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (file < 0 || connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  return file;
}

/// The files and the length of the text. False when they did not come.
bool receive_files(int from, std::array<int, kLaunchedFiles>& files, std::uint64_t& length) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kLaunchedFiles)> control{};
  iovec data{&length, sizeof length};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(from, &message, MSG_WAITALL) != static_cast<ssize_t>(sizeof length)) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_len != CMSG_LEN(sizeof(int) * kLaunchedFiles)) return false;
  std::memcpy(files.data(), CMSG_DATA(header), sizeof(int) * kLaunchedFiles);
  return true;
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

/// Above the standard files, so that none of them is overwritten before it is copied.
void use_files(const std::array<int, kLaunchedFiles>& files) {
  std::array<int, kLaunchedFiles> copies{};
  for (int i = 0; i < kLaunchedFiles; ++i) copies[i] = fcntl(files[i], F_DUPFD_CLOEXEC, kLaunchedFiles);
  for (int i = 0; i < kLaunchedFiles; ++i) {
    dup2(copies[i], i);
    close(copies[i]);
    if (files[i] >= kLaunchedFiles) close(files[i]);
  }
}

[[noreturn]] void become(int socket, std::vector<char*> strings,
                         const std::array<int, kLaunchedFiles>& files) {
  const auto group = static_cast<pid_t>(std::atol(strings[0]));
  char* const program = strings[1];
  const auto count = static_cast<std::size_t>(std::atol(strings[2]));
  std::vector<char*> arguments(strings.begin() + 3, strings.begin() + 3 + static_cast<std::ptrdiff_t>(count));
  std::vector<char*> environment(strings.begin() + 3 + static_cast<std::ptrdiff_t>(count), strings.end());
  arguments.push_back(nullptr);
  environment.push_back(nullptr);
  setpgid(0, group);
  use_files(files);
  execve(program, arguments.data(), environment.data());
  const std::string why = std::strerror(errno);
  if (write(socket, why.data(), why.size()) < 0) std::perror(program);
  _exit(kCannotRun);
}

}  // namespace

int main() {
  const char* path = std::getenv(refhist::kLaunchSocket);
  const int socket = path == nullptr ? -1 : connect_to(path);
  std::array<int, kLaunchedFiles> files{};
  std::uint64_t length = 0;
  if (socket < 0 || !receive_files(socket, files, length)) {
    std::fputs("refhist-exec is a part of refhist-run, and does nothing by itself\n", stderr);
    return kCannotRun;
  }
  std::string text(length, '\0');
  if (!receive_text(socket, text)) return kCannotRun;
  become(socket, strings_of(text), files);
}
