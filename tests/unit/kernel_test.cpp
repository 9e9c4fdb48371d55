// A kernel that is followed through a debugger, without a guest: memory is a table, vmlinux a table of
// symbols.
#include <doctest/doctest.h>

#include <cstring>
#include <map>

#include "base/error.h"
#include "kernel/kernel_file.h"
#include "kernel/kernel_tasks.h"
#include "runner/no_debugger.h"

using namespace refhist;

namespace {

class GuestPort : public NoDebugger {
 public:
  bool read_memory(Address address, void* out, std::size_t size) override {
    ++reads;
    for (std::size_t i = 0; i < size; ++i) {
      const auto byte = memory.find(address + i);
      if (byte == memory.end()) return false;
      static_cast<char*>(out)[i] = byte->second;
    }
    return true;
  }
  std::optional<Registers> registers(long tid) override {
    const auto known = cpus.find(tid);
    return known == cpus.end() ? std::nullopt : std::optional(known->second);
  }
  std::vector<ThreadInfo> threads() override { return {{1, ""}, {2, ""}}; }

  template <class T>
  void put(Address address, const T& value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    for (std::size_t i = 0; i < sizeof value; ++i) memory[address + i] = bytes[i];
  }

  std::map<Address, char> memory;
  std::map<long, Registers> cpus;
  int reads = 0;
};

constexpr Address kOffsets = 0xffffffff82000000ULL;
constexpr Address kArea = 0xffff888010000000ULL;  // of the first processor; the next one's is 1 MiB further
constexpr Address kCurrent = 0x1fb80;
constexpr Address kPreempt = 0x1fb40;
constexpr Address kTask = 0xffff888020000000ULL;
constexpr Address kStack = 0xffffc90000400000ULL;

TaskLayout layout() {
  TaskLayout layout;
  layout.per_cpu_offsets = kOffsets;
  layout.current = kCurrent;
  layout.preempt_count = kPreempt;
  layout.stack = {0x20, 8, false};
  layout.pid = {0x560, 4, true};
  layout.name = {0x700, 16, false};
  layout.stack_pointer = {0x1200, 8, false};
  layout.canary = {0x570, 8, false};
  return layout;
}

struct Name {
  char text[16] = {};
};

void put_task(GuestPort& port, Address task, std::uint32_t pid, const char* name, Address stack, Address sp) {
  for (Address at = task + 0x560; at < task + 0x710; ++at) port.memory[at] = 0;
  port.put(task + 0x20, stack);
  port.put(task + 0x560, pid);
  Name comm;
  std::strncpy(comm.text, name, sizeof comm.text - 1);
  port.put(task + 0x700, comm);
  port.put(task + 0x1200, sp);
}

void run_on(GuestPort& port, std::size_t cpu, Address task, std::uint32_t preempt_count) {
  const Address area = kArea + (cpu << 20);
  port.put(kOffsets + cpu * 8, area);
  for (Address at = area + kPreempt; at < area + kCurrent; ++at) port.memory[at] = 0;
  port.put(area + kCurrent, task);
  port.put(area + kPreempt, preempt_count);
}

Registers at(Address sp) {
  Registers registers;
  registers[kRsp] = sp;
  return registers;
}

}  // namespace

TEST_CASE("kernel: a task is known on whichever processor it runs") {
  GuestPort port;
  put_task(port, kTask, 42, "cat", kStack, kStack + 0x3000);
  put_task(port, kTask + 0x10000, 0, "swapper/1", kStack + 0x10000, kStack + 0x13000);
  KernelTasks tasks(layout(), {1, 2});
  run_on(port, 0, kTask, 0);
  run_on(port, 1, kTask + 0x10000, 0);
  CHECK(tasks.running(port, 1, at(kStack + 0x3800)) == 42);
  CHECK(tasks.name(42) == "cat");
  const long idle = tasks.running(port, 2, at(kStack + 0x13800));
  CHECK(idle < -1);
  CHECK(tasks.name(idle) == "swapper/1");
  run_on(port, 1, kTask, 0);
  CHECK(tasks.running(port, 2, at(kStack + 0x3800)) == 42);
}

TEST_CASE("kernel: an interrupt is no task's doing") {
  GuestPort port;
  put_task(port, kTask, 42, "cat", kStack, kStack + 0x3000);
  KernelTasks tasks(layout(), {1});
  run_on(port, 0, kTask, 0x10000);
  const long hard = tasks.running(port, 1, at(kStack + 0x3800));
  CHECK(hard < -1);
  CHECK(tasks.name(hard) == "irq");
  run_on(port, 0, kTask, 0x100);
  const long soft = tasks.running(port, 1, at(kStack + 0x3800));
  CHECK(tasks.name(soft) == "softirq");
  CHECK(soft != hard);
  // What keeps soft interrupts off counts twice as much.
  run_on(port, 0, kTask, 0x200);
  CHECK(tasks.running(port, 1, at(kStack + 0x3800)) == 42);
}

TEST_CASE("kernel: where a task stands that does not run here") {
  GuestPort port;
  put_task(port, kTask, 42, "cat", kStack, kStack + 0x3000);
  put_task(port, kTask + 0x10000, 43, "ls", kStack + 0x10000, kStack + 0x13000);
  KernelTasks tasks(layout(), {1});
  run_on(port, 0, kTask, 0);
  CHECK(tasks.running(port, 1, at(kStack + 0x3800)) == 42);
  run_on(port, 0, kTask + 0x10000, 0);
  CHECK(tasks.running(port, 1, at(kStack + 0x13800)) == 43);
  const auto sleeps = tasks.registers(port, 42);
  REQUIRE(sleeps);
  CHECK(sleeps->sp() == kStack + 0x3000);
  // It runs, and an interrupt has taken its processor to another stack.
  port.cpus[1] = at(0xffffc90000004000ULL);
  CHECK(!tasks.registers(port, 43));
  port.cpus[1] = at(kStack + 0x13700);
  CHECK(tasks.registers(port, 43)->sp() == kStack + 0x13700);
  CHECK(!tasks.registers(port, 99));
  // Its memory is another task's now.
  put_task(port, kTask, 77, "sh", kStack, kStack + 0x3000);
  CHECK(!tasks.lives(port, 42));
  CHECK(tasks.lives(port, 43));
}

TEST_CASE("kernel: what cannot be told leaves the processor's own number") {
  GuestPort port;
  KernelTasks unreadable(layout(), {1});
  CHECK(unreadable.running(port, 1, at(kStack)) == 1);
  TaskLayout unknown;
  unknown.why_not = "no debug information";
  KernelTasks without(unknown, {1});
  CHECK(without.running(port, 1, at(kStack)) == 1);
  CHECK(port.reads == 1);
}

TEST_CASE("kernel: a stack is read in small pieces, and never past its end") {
  KernelTasks tasks(layout(), {1});
  CHECK(tasks.stack_piece(kStack + 0x100, 8192) == 512);
  CHECK(tasks.stack_piece(kStack + 0x300, 8192) == 2048);
  CHECK(tasks.stack_piece(kStack + 0x3f80, 8192) == 128);
  CHECK(tasks.stack_piece(kStack + 0x3ffc, 8) == 8);  // no stack: a counter
}

TEST_CASE("kernel: the release in a banner") {
  CHECK(release_in("Linux version 6.1.0-56-cloud-amd64 (debian-kernel@lists.debian.org) (gcc") ==
        "6.1.0-56-cloud-amd64");
  CHECK(release_in("Linux version 6.12\n") == "6.12");
  CHECK(release_in("Windows").empty());
  CHECK(release_in("").empty());
}
