// LLDB tells nobody that it has let go of a process before the next command gives the occasion to look, and
// the agent's memory cannot be given back while LLDB's server holds the process.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace refhist {

class DetachWatch {
 public:
  DetachWatch() = default;
  ~DetachWatch() { stop(); }
  DetachWatch(const DetachWatch&) = delete;
  DetachWatch& operator=(const DetachWatch&) = delete;

  /// Calls `then` on a thread of its own as soon as nobody traces the process, within a few seconds.
  void start(long pid, std::function<void()> then);
  /// Waits for `then` where it has begun.
  void stop();

 private:
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace refhist
