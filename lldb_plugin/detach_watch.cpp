#include "detach_watch.h"

#include <chrono>
#include <utility>

#include "base/quiet_thread.h"
#include "base/task_status.h"

namespace refhist {

namespace {
constexpr std::chrono::milliseconds kBetweenLooks{2};
constexpr unsigned kLooks = 2500;  // five seconds: LLDB is about to let go when the watch begins
}  // namespace

void DetachWatch::start(long pid, std::function<void()> then) {
  stop();
  ending_ = false;
  thread_ = start_quiet_thread([this, pid, then = std::move(then)] {
    for (unsigned i = 0; i < kLooks && !ending_; ++i) {
      if (!is_traced(pid)) return then();
      std::this_thread::sleep_for(kBetweenLooks);
    }
  });
}

void DetachWatch::stop() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
}

}  // namespace refhist
