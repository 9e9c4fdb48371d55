// The numbers of a process's threads. In a container they have other ones than its debugger sees: each
// namespace of process numbers has its own.
#pragma once

namespace refhist {

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
