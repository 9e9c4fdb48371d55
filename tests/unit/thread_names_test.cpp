// Asked of this process's own threads: the kernel is the real one.
#include "events/thread_names.h"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <future>
#include <list>
#include <thread>

using namespace refhist;

namespace {

/// A thread that waits until it is told to end.
class Waiting {
 public:
  explicit Waiting(const char* name) : thread_([this] { run(); }) {
    tid = started_.get_future().get();
    rename(name);
  }
  ~Waiting() { end(); }

  void rename(const char* name) { REQUIRE(pthread_setname_np(thread_.native_handle(), name) == 0); }
  void end() {
    if (!thread_.joinable()) return;
    ended_.set_value();
    thread_.join();
  }

  long tid = 0;

 private:
  void run() {
    started_.set_value(gettid());
    ended_.get_future().wait();
  }

  std::promise<long> started_;
  std::promise<void> ended_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("the name of a thread is the one that it has now") {
  ThreadNames names;
  Waiting thread("reader");
  CHECK(names.name(getpid(), thread.tid) == "reader");
  CHECK(names.name(getpid(), thread.tid) == "reader");
  thread.rename("writer");
  CHECK(names.name(getpid(), thread.tid) == "writer");
}

TEST_CASE("a thread that has ended has no name") {
  ThreadNames names;
  Waiting thread("reader");
  CHECK(names.name(getpid(), thread.tid) == "reader");
  thread.end();
  while (tgkill(getpid(), static_cast<pid_t>(thread.tid), 0) == 0)
    sched_yield();  // joined a moment before it is gone
  CHECK(names.name(getpid(), thread.tid) == std::nullopt);
}

TEST_CASE("more threads are named than files are kept open") {
  ThreadNames names;
  std::list<Waiting> threads;
  for (int i = 0; i < 100; ++i) threads.emplace_back("many");
  for (Waiting& thread : threads) thread.rename(("t" + std::to_string(thread.tid)).c_str());
  for (int round = 0; round < 2; ++round) {
    for (const Waiting& thread : threads)
      CHECK(names.name(getpid(), thread.tid) == "t" + std::to_string(thread.tid));
  }
}
