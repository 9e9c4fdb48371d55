#include "session/live_replay.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/quiet_thread.h"

namespace refhist {

namespace {
// Between two steps whoever waits for the mutex gets it.
constexpr std::chrono::microseconds kShortestRest{500};
constexpr std::chrono::microseconds kLongestRest{20000};
constexpr int kNiceness = 10;
}  // namespace

LiveReplay::LiveReplay(std::recursive_mutex& mutex, std::function<bool()> step)
    : mutex_(mutex), step_(std::move(step)) {}

LiveReplay::~LiveReplay() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
}

void LiveReplay::begin() {
  if (thread_.joinable()) return;
  thread_ = start_quiet_thread([this] { run(); });
}

void LiveReplay::run() {
  // The program and the thread that empties its rings come first. What is left over waits in memory; where
  // that becomes much, the program waits, and this thread runs. Not SCHED_IDLE: whoever waits for the mutex
  // would wait for a thread that hardly ever runs on a busy machine.
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNiceness);
  auto rest = kShortestRest;
  while (!ending_) {
    bool found = false;
    {
      // Whoever holds the mutex works the records off himself.
      const std::unique_lock lock(mutex_, std::try_to_lock);
      found = lock && step_();
    }
    rest = found ? kShortestRest : std::min(rest * 2, kLongestRest);
    std::this_thread::sleep_for(rest);
  }
}

}  // namespace refhist
