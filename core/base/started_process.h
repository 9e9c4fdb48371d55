// A program of refhist's own (a debugger, refhist-run) that runs beside.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace refhist {

class StartedProcess {
 public:
  struct Files {
    std::string input = "/dev/null";
    std::string output = {};  ///< what it prints; empty: to `errors`
    std::string errors = {};  ///< its messages
    std::string folder = {};  ///< its working directory; empty: the one here
  };
  /// Starts it. `environment`: "NAME=VALUE" each. Throws Error.
  StartedProcess(std::vector<std::string> command, std::vector<std::string> environment, const Files& files);
  /// One that another process of ours has started, in a process group of its own.
  explicit StartedProcess(pid_t pid);
  ~StartedProcess();
  StartedProcess(const StartedProcess&) = delete;
  StartedProcess& operator=(const StartedProcess&) = delete;

  /// To be waited for: readable when it has ended; negative where the kernel has none.
  [[nodiscard]] int file() const { return file_; }
  bool has_ended();
  /// What waitpid told of its end; 0 where somebody else has waited for it.
  [[nodiscard]] int wait_status() const { return wait_status_; }
  void ask_to_end() const;  ///< SIGTERM
  /// With what it has started, but for its program.
  void kill() const;

 private:
  pid_t pid_ = 0;
  int file_ = -1;
  int wait_status_ = 0;
  bool ended_ = false;
  bool own_ = true;  ///< our child, which can be waited for
};

}  // namespace refhist
