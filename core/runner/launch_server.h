// The other side of refhist-exec: gives the program away and learns its number.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "runner/inherited.h"

namespace refhist {

class LaunchServer {
 public:
  /// `folder`: where the socket is made. `environment`: of the program, "NAME=VALUE" each. Throws Error.
  LaunchServer(const std::string& folder, std::string program, std::vector<std::string> arguments,
               std::vector<std::string> environment, const Inherited& inherited);
  ~LaunchServer();
  LaunchServer(const LaunchServer&) = delete;
  LaunchServer& operator=(const LaunchServer&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  /// To be waited for; -1: for nothing any more.
  [[nodiscard]] int file() const { return connection_ >= 0 ? connection_ : socket_; }
  /// There is something at `file`.
  void serve();
  /// 0 as long as the program was not started.
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Ends the program, if it was started and has not ended.
  void kill_program() const;
  /// Why the program could not be run; empty when it runs, or may yet.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }

 private:
  void accept_shell();
  void hand_over();
  [[nodiscard]] std::string launch_text() const;
  void hear();

  std::string path_;
  std::string program_;
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  const Inherited& inherited_;
  int socket_ = -1;
  int connection_ = -1;
  pid_t pid_ = 0;
  int process_ = -1;  // pidfd: means this process even when the number means another one
  std::string why_not_;
};

}  // namespace refhist
