// Names of the threads of a local process, asked of the kernel at every event: a thread may rename itself at
// any time. What is kept is the open file, so that asking again is one system call.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

namespace refhist {

class ThreadNames {
 public:
  ThreadNames() = default;
  ThreadNames(const ThreadNames&) = delete;
  ThreadNames& operator=(const ThreadNames&) = delete;
  ~ThreadNames() { forget(); }

  /// The name that the thread has now; nothing when there is no such thread.
  std::optional<std::string> name(long pid, long tid);
  /// The process is gone.
  void forget();

 private:
  std::unordered_map<long, int> files_;  // file descriptors, by thread id
};

}  // namespace refhist
