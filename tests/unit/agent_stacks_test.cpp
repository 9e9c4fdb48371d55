// Captures of the agent's walker against the core's unwinder, on the stacks of this process.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <thread>

#include "agent_stacks_checker.h"
#include "agent_stacks_paths.h"

using namespace refhist;
using namespace refhist_test;

namespace {

struct Onward {
  StackPath* path;
  int depth;
  PathFunction walk;
};

thread_local Onward in_handler;

void handle(int, siginfo_t*, void*) {
  const Onward here = in_handler;
  current_checker().enter_handler();
  here.walk(*here.path, here.depth);
  current_checker().leave_handler();
}

class SignalHandler {
 public:
  SignalHandler(int signal, int flags, void (*handler)(int, siginfo_t*, void*)) : signal_(signal) {
    struct sigaction action {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | flags;
    sigaction(signal, &action, &before_);
  }
  ~SignalHandler() { sigaction(signal_, &before_, nullptr); }

 private:
  int signal_;
  struct sigaction before_ {};
};

class SignalStack {
 public:
  explicit SignalStack(std::size_t size = 1 << 20) : memory_(size) {
    const stack_t stack{.ss_sp = memory_.data(), .ss_flags = 0, .ss_size = size};
    sigaltstack(&stack, &before_);
  }
  ~SignalStack() { sigaltstack(&before_, nullptr); }

 private:
  std::vector<char> memory_;
  stack_t before_{};
};

/// makecontext passes ints only.
thread_local Onward in_coroutine;

void start_coroutine() {
  const Onward here = in_coroutine;
  here.walk(*here.path, here.depth);
}

void check_counts(const StackCounts& counts, std::size_t at_least) {
  INFO(counts.first, counts.first_cut);
  CHECK(counts.mismatches == 0);
  CHECK(counts.given_up == 0);
  CHECK(counts.captures >= at_least);
  CHECK((counts.cut_short - counts.coroutines) * 100 < counts.captures);
}

StackCounts walk_paths(WalkerMappings& mappings, PathFunction walk, std::uint64_t seed, int paths) {
  StackChecker checker(mappings);
  checker.use();
  for (int i = 0; i < paths; ++i) {
    StackPath path(seed + static_cast<std::uint64_t>(i));
    path.probes_left = 200;
    walk(path, 5 + static_cast<int>(path.next(90)));
  }
  return checker.counts;
}

}  // namespace

namespace refhist_test {

void walk_in_handler(StackPath& path, int depth, PathFunction walk) {
  const bool signals = path.signals;
  const bool coroutines = path.coroutines;
  path.signals = path.coroutines = false;
  in_handler = {&path, depth, walk};
  raise(SIGUSR1);
  path.signals = signals;
  path.coroutines = coroutines;
}

void walk_in_coroutine(StackPath& path, int depth, PathFunction walk) {
  constexpr std::size_t kSize = 1 << 20;
  const bool coroutines = path.coroutines;
  path.coroutines = false;
  void* stack = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ucontext_t back{};
  ucontext_t context{};
  getcontext(&context);
  context.uc_stack = {.ss_sp = stack, .ss_flags = 0, .ss_size = kSize};
  context.uc_link = &back;
  in_coroutine = {&path, depth, walk};
  makecontext(&context, start_coroutine, 0);
  current_checker().in_coroutine = true;
  swapcontext(&back, &context);
  current_checker().in_coroutine = false;
  munmap(stack, kSize);
  path.coroutines = coroutines;
}

}  // namespace refhist_test

TEST_CASE("Captured stacks are those of the unwinder, frame for frame") {
  WalkerMappings mappings;
  const SignalHandler handler(SIGUSR1, 0, handle);
  PathFunction walk = nullptr;
  SUBCASE("without optimization") { walk = walk_unoptimized; }
  SUBCASE("optimized") { walk = walk_optimized; }
  SUBCASE("with realigned frames") { walk = walk_realigned; }
  const StackCounts counts = walk_paths(mappings, walk, 1, 250);
  check_counts(counts, 10'000);
  CHECK(counts.signal_frames > 100);
  CHECK(counts.coroutines > 100);
  CHECK(mappings.nodes().count() > 1000);
}

TEST_CASE("Captured stacks are right from a handler on a signal stack on") {
  WalkerMappings mappings;
  const SignalStack stack;
  const SignalHandler handler(SIGUSR1, SA_ONSTACK, handle);
  StackCounts counts = walk_paths(mappings, walk_optimized, 1000, 120);
  counts.add(walk_paths(mappings, walk_unoptimized, 2000, 120));
  check_counts(counts, 10'000);
  CHECK(counts.signal_frames > 100);
}

TEST_CASE("Several threads share the trie of stacks") {
  WalkerMappings mappings;
  const SignalHandler handler(SIGUSR1, 0, handle);
  constexpr int kThreads = 4;
  std::vector<StackCounts> counts(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      counts[i] = walk_paths(mappings, i % 2 == 0 ? walk_optimized : walk_unoptimized, 3000, 100);
    });
  }
  for (std::thread& thread : threads) thread.join();
  StackCounts all;
  for (const StackCounts& one : counts) all.add(one);
  check_counts(all, 4 * 4'000);
}
