// How refhist-run hands the program to the debugger's "shell": the program runs with the files, the
// environment, the process group, and the ignored and blocked signals that refhist-run was started with, and
// not with the debugger's.
//
// The shell (refhist-exec) connects to the socket whose path is in kLaunchSocket and receives the length of a
// text, and the text. It is made of strings, each with its end: the number of the process group, the signals
// that are ignored and those that are blocked (Inherited), how many files, their numbers, the path of the
// program, how many arguments, the arguments (argv[0] first), the environment. Then comes a byte for each
// file, with the file, or alone where it cannot be handed on. When the program cannot be run, the shell
// answers with why, else it is closed by exec.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>

namespace refhist {

inline constexpr const char* kLaunchSocket = "REFHIST_LAUNCH_SOCKET";

/// A byte with room for a file.
struct FileMessage {
  FileMessage() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  FileMessage(const FileMessage&) = delete;
  FileMessage& operator=(const FileMessage&) = delete;

  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  char byte = 0;
  iovec data{&byte, sizeof byte};
  msghdr message{};
};

}  // namespace refhist
