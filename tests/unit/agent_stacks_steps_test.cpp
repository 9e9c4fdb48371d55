// Captures from a signal handler that interrupts code at every single instruction: in prologues and
// epilogues, in the stubs of the PLT, in the dynamic linker while it binds a function, and while an exception
// is on its way.
#include <alloca.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>

#include "agent_stacks_checker.h"
#include "fixtures/symbols_support.h"

using namespace refhist;
using namespace refhist_test;

extern "C" void agent_stacks_steps_on();
extern "C" void agent_stacks_steps_off();
asm(R"(
  .text
  .globl agent_stacks_steps_on
  .hidden agent_stacks_steps_on
agent_stacks_steps_on:
  .cfi_startproc
  pushfq
  .cfi_adjust_cfa_offset 8
  orq $0x100, (%rsp)
  popfq
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .globl agent_stacks_steps_off
  .hidden agent_stacks_steps_off
agent_stacks_steps_off:
  .cfi_startproc
  pushfq
  .cfi_adjust_cfa_offset 8
  andq $-257, (%rsp)
  popfq
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
)");

namespace {

void after_step(int, siginfo_t*, void*) {
  current_checker().enter_handler();
  agent_stacks_probe();
  current_checker().leave_handler();
}

int compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

__attribute__((noinline)) int with_alloca(int size) {
  auto* bytes = static_cast<volatile char*>(alloca(static_cast<std::size_t>(size)));
  bytes[0] = static_cast<char>(size);
  return bytes[0] + 1;
}

__attribute__((noinline)) int throws(int value) {
  const std::vector<int> destroyed(3, value);
  if (value > 0) throw value;
  return destroyed[0];
}

__attribute__((noinline)) int catches(int value) {
  try {
    return throws(value);
  } catch (int thrown) {
    return thrown;
  }
}

/// A library whose calls are bound when they are first made.
class LazyLibrary {
 public:
  LazyLibrary() {
    const std::string source = scratch().file("lazy.c");
    const std::string library = scratch().file("lazy.so");
    std::ofstream(source)
        << "int target(int a) { return a + 1; }\nint call(int a) { return target(a) + 1; }\n";
    output_of("cc -O1 -fPIC -shared -Wl,-z,lazy -o " + library + " " + source);
    handle_ = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    REQUIRE(handle_ != nullptr);
  }
  ~LazyLibrary() { dlclose(handle_); }
  int call(int value) { return reinterpret_cast<int (*)(int)>(dlsym(handle_, "call"))(value); }

 private:
  void* handle_;
};

/// Compares the captures at all instructions of the function.
template <class Function>
StackCounts step_through(WalkerMappings& mappings, const Function& function) {
  StackChecker checker(mappings);
  checker.use();
  struct sigaction before {};
  struct sigaction action {};
  action.sa_sigaction = after_step;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  checker.record(reinterpret_cast<Address>(__builtin_frame_address(0)) + 16);
  agent_stacks_steps_on();
  function();
  agent_stacks_steps_off();
  checker.compare_recorded();
  sigaction(SIGTRAP, &before, nullptr);
  return checker.counts;
}

}  // namespace

TEST_CASE("Captures are right at every instruction that a signal interrupts") {
  WalkerMappings mappings;
  StackCounts counts;
  SUBCASE("qsort and formatting") {
    counts = step_through(mappings, [] {
      int numbers[] = {5, 2, 4, 1};
      qsort(numbers, 4, sizeof numbers[0], compare);
      char text[64];
      snprintf(text, sizeof text, "%d %s %5.2f", numbers[0], "text", 1.5);
    });
  }
  SUBCASE("alloca") {
    counts = step_through(mappings, [] {
      for (int i = 1; i < 40; ++i) with_alloca(16 * i);
    });
  }
  SUBCASE("an exception") {
    counts = step_through(mappings, [] { catches(1); });
  }
  SUBCASE("a call that is bound lazily") {
    LazyLibrary library;
    mappings.publish();
    counts = step_through(mappings, [&] { CHECK(library.call(1) == 3); });
  }
  INFO(counts.first, counts.first_cut);
  CHECK(counts.captures > 300);
  CHECK(counts.signal_frames >= counts.captures);
  CHECK(counts.mismatches == 0);
  CHECK(counts.given_up == 0);
  CHECK(counts.cut_short * 100 < counts.captures);
}
