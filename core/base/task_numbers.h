// The numbers of a process's threads. In a container they have other ones than its debugger sees: each
// namespace of process numbers has its own.
#pragma once

#include <string>
#include <vector>

namespace refhist {

/// NSpid of /proc/PID/status: the numbers from the reader's namespace to the innermost one. Empty when it is
/// none.
[[nodiscard]] std::vector<long> numbers_in_namespaces(const std::string& field);

class TaskNumbers {
 public:
  explicit TaskNumbers(long pid);

  /// Of the thread that calls itself `inside`. `inside` itself when there is none: it has ended.
  [[nodiscard]] long outside(long inside) const;
  /// What the thread calls itself.
  [[nodiscard]] long inside(long outside) const;

 private:
  long pid_;
  bool differ_;
};

}  // namespace refhist
