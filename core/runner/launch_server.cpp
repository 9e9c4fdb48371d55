#include "runner/launch_server.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/process_file.h"
#include "runner/launch_message.h"

namespace refhist {

namespace {

void add(std::string& text, std::string_view part) {
  text += part;
  text += '\0';
}

/// One that cannot be sent is told by a byte alone.
bool send_file(int to, int file) {
  FileMessage one;
  cmsghdr* header = CMSG_FIRSTHDR(&one.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  return sendmsg(to, &one.message, MSG_NOSIGNAL) == 1 ||
         send(to, &one.byte, sizeof one.byte, MSG_NOSIGNAL) == 1;
}

bool send_text(int to, std::string_view text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t part = send(to, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (part <= 0) return false;
    done += static_cast<std::size_t>(part);
  }
  return true;
}

}  // namespace

LaunchServer::LaunchServer(const std::string& folder, std::string program, std::vector<std::string> arguments,
                           std::vector<std::string> environment, const Inherited& inherited)
    : path_(folder + "/launch"),
      program_(std::move(program)),
      arguments_(std::move(arguments)),
      environment_(std::move(environment)),
      inherited_(inherited) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) fail("{} is too long for a socket: set TMPDIR", path_);
  std::strcpy(address.sun_path, path_.c_str());
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0 || bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket_, 1) != 0)
    fail("{}: {}", path_, std::strerror(errno));
}

LaunchServer::~LaunchServer() {
  if (process_ >= 0) close(process_);
  if (connection_ >= 0) close(connection_);
  if (socket_ >= 0) close(socket_);
  unlink(path_.c_str());
}

void LaunchServer::kill_program() const { signal_process(process_, SIGKILL); }

void LaunchServer::serve() { connection_ >= 0 ? hear() : accept_shell(); }

void LaunchServer::accept_shell() {
  connection_ = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection_ < 0) return;
  close(socket_);  // one program, once
  socket_ = -1;
  hand_over();
}

void LaunchServer::hand_over() {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(connection_, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
    pid_ = peer.pid;
    process_ = open_process(pid_);
  }
  const std::string text = launch_text();
  const std::uint64_t length = text.size();
  const std::string_view begin(reinterpret_cast<const char*>(&length), sizeof length);
  const bool sent = send_text(connection_, begin) && send_text(connection_, text) &&
                    std::all_of(inherited_.files.begin(), inherited_.files.end(),
                                [&](int file) { return send_file(connection_, file); });
  if (!sent)
    why_not_ = fmt::format("the program could not be handed to the debugger: {}", std::strerror(errno));
}

std::string LaunchServer::launch_text() const {
  std::string text;
  add(text, std::to_string(getpgrp()));
  add(text, std::to_string(inherited_.ignored));
  add(text, std::to_string(inherited_.blocked));
  add(text, std::to_string(inherited_.files.size()));
  for (const int file : inherited_.files) add(text, std::to_string(file));
  add(text, program_);
  add(text, std::to_string(arguments_.size()));
  for (const std::string& argument : arguments_) add(text, argument);
  for (const std::string& entry : environment_) add(text, entry);
  return text;
}

void LaunchServer::hear() {
  std::array<char, 256> text{};
  const ssize_t size = read(connection_, text.data(), text.size());
  if (size > 0) {
    why_not_.append(text.data(), static_cast<std::size_t>(size));
    return;
  }
  close(connection_);
  connection_ = -1;
}

}  // namespace refhist
