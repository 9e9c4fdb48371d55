// Works off what the agent records while the program runs, so that stops and commands find little left to do
// and the records take little memory. One thread, which holds the session's mutex for one step at a time.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace refhist {

class LiveReplay {
 public:
  /// `step` is called with the mutex held and says whether there was something to do.
  LiveReplay(std::recursive_mutex& mutex, std::function<bool()> step);
  ~LiveReplay();
  LiveReplay(const LiveReplay&) = delete;
  LiveReplay& operator=(const LiveReplay&) = delete;

  /// From now on there may be something to do. With the mutex held.
  void begin();

 private:
  void run();

  std::recursive_mutex& mutex_;
  std::function<bool()> step_;
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace refhist
