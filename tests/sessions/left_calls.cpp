// Watched calls that are left or parked: by exceptions through a probed constructor and a probed operator
// new, by swapcontext in the middle of a probed constructor, and coroutines that stop between their gets and
// puts.
//   left_calls ROUNDS
#include <ucontext.h>

#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "conn.h"

namespace {

ucontext_t here;
ucontext_t there;
volatile int parts;
volatile std::size_t too_much = ~std::size_t{0} / 4;

struct Task {
  struct promise_type {
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};

Task take_and_give_back(conn* which) {
  conn_get(which);
  co_await std::suspend_always{};
  conn* own = conn_new(7);
  co_await std::suspend_always{};
  conn_put(own);
  conn_put(which);
}

}  // namespace

extern "C" {

// A constructor that may throw, have another stack run in its middle, or need more memory than there is.
__attribute__((noinline)) conn* conn_make(int how) {
  if (how == 1) throw std::runtime_error("refused");
  if (how == 2) ::operator delete(::operator new(too_much));
  conn* made = conn_new(how);
  if (how == 3) swapcontext(&there, &here);
  return made;
}

static void on_other_stack() {
  for (;;) {
    conn* made = conn_make(3);  // its return comes only when main switches here again
    conn_put(made);
    parts = parts + 1;
    swapcontext(&there, &here);
  }
}
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
  static char stack[64 * 1024];
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = sizeof stack;
  makecontext(&there, on_other_stack, 0);
  conn* shared = conn_new(0);
  int thrown = 0;
  int no_memory = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      conn_make(1);
    } catch (const std::runtime_error&) {
      ++thrown;
    }
    try {
      conn_make(2);
    } catch (const std::bad_alloc&) {
      ++no_memory;
    }
    swapcontext(&here, &there);  // into the middle of conn_make there
    Task first = take_and_give_back(shared);
    Task second = take_and_give_back(shared);
    for (int step = 0; step < 3; ++step) {
      first.handle.resume();
      conn_put(conn_make(0));
      second.handle.resume();
    }
    swapcontext(&here, &there);  // to its end
    first.handle.destroy();
    second.handle.destroy();
  }
  conn_put(shared);
  std::printf("thrown %d\nno_memory %d\nparts %d\n", thrown, no_memory, static_cast<int>(parts));
  return 12;
}
