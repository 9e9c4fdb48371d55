#include "kernel/kernel_tasks.h"

#include <algorithm>
#include <cstring>

namespace refhist {

namespace {
constexpr Address kStack = 16 << 10;       // bytes of a task's stack, where it begins at a multiple of them
constexpr std::size_t kFirstPiece = 512;   // most stacks need no more
constexpr std::size_t kNextPiece = 2048;   //
constexpr std::size_t kSmall = 64;         // no stack is read so
constexpr Address kReach = 8 << 10;        // of one walk
constexpr std::size_t kName = 16;          // TASK_COMM_LEN
constexpr std::uint32_t kSoftirq = 0x100;  // of the preempt count: a soft interrupt is served
constexpr std::uint32_t kHardirq = 0xff0000;  // hard ones and NMIs
constexpr Address kSpan = 512;                // read in one go

enum Kind : long { kIdle, kIrq, kSoft, kKinds };
// Not -1, which the recorder has for nobody.
long number(std::size_t cpu, Kind kind) { return -2 - static_cast<long>(cpu) * kKinds - kind; }

template <class T>
bool read(DebuggerPort& port, Address address, T& out) {
  return port.read_memory(address, &out, sizeof out);
}
}  // namespace

// Until the areas are set up, all of the kernel runs on the first processor with the image's own.
std::optional<Address> KernelTasks::area(DebuggerPort& port, std::size_t cpu) {
  if (cpu < areas_.size() && areas_[cpu] != 0) return areas_[cpu];
  Address offset = 0;
  if (!read(port, layout_.per_cpu_offsets + cpu * sizeof offset, offset)) return std::nullopt;
  const bool final = offset < 0xffffffff80000000ULL;
  if (final) {
    areas_.resize(std::max(areas_.size(), cpu + 1));
    areas_[cpu] = offset;
  }
  return offset;
}

std::optional<KernelTasks::Running> KernelTasks::running_on(DebuggerPort& port, std::size_t cpu) {
  const auto base = area(port, cpu);
  if (!base) return std::nullopt;
  Running now;
  const auto [low, high] = std::minmax(layout_.current, layout_.preempt_count);
  char both[kSpan];
  const std::size_t size = high - low + sizeof(Address);
  if (size > sizeof both) {
    if (!read(port, *base + layout_.current, now.task) ||
        !read(port, *base + layout_.preempt_count, now.preempt_count))
      return std::nullopt;
    return now;
  }
  if (!port.read_memory(*base + low, both, size)) return std::nullopt;
  std::memcpy(&now.task, both + (layout_.current - low), sizeof now.task);
  std::memcpy(&now.preempt_count, both + (layout_.preempt_count - low), sizeof now.preempt_count);
  return now;
}

std::optional<KernelTasks::Facts> KernelTasks::facts(DebuggerPort& port, Address task) const {
  Facts facts;
  std::uint32_t pid = 0;
  char name[kName + 1] = {};
  const std::uint64_t low = std::min(layout_.pid.offset, layout_.name.offset);
  const std::uint64_t high = std::max(layout_.pid.offset + sizeof pid, layout_.name.offset + kName);
  char both[kSpan * 2];
  if (high - low > sizeof both || !port.read_memory(task + low, both, high - low)) return std::nullopt;
  std::memcpy(&pid, both + (layout_.pid.offset - low), sizeof pid);
  std::memcpy(name, both + (layout_.name.offset - low), kName);
  facts.pid = static_cast<long>(pid);
  facts.name = name;
  return facts;
}

long KernelTasks::running(DebuggerPort& port, long processor, const Registers& registers) {
  last_piece_ = 0;
  const auto at = std::find(processors_.begin(), processors_.end(), processor);
  if (!layout_.why_not.empty() || at == processors_.end() || registers.sp() == 0) return processor;
  const auto cpu = static_cast<std::size_t>(at - processors_.begin());
  const auto now = running_on(port, cpu);
  if (!now || now->task == 0) return processor;
  if ((now->preempt_count & (kHardirq | kSoftirq)) != 0) {
    const bool hard = (now->preempt_count & kHardirq) != 0;
    const long interrupt = number(cpu, hard ? kIrq : kSoft);
    seen_[interrupt] = {0, hard ? "irq" : "softirq"};
    return interrupt;
  }
  const auto facts = this->facts(port, now->task);
  if (!facts) return processor;
  const long task = facts->pid != 0 || cpu == 0 ? facts->pid : number(cpu, kIdle);
  seen_[task] = {now->task, facts->name};
  return task;
}

std::string KernelTasks::name(long task) const {
  const auto known = seen_.find(task);
  return known == seen_.end() ? std::string() : known->second.name;
}

std::optional<Registers> KernelTasks::registers(DebuggerPort& port, long task) {
  const auto known = seen_.find(task);
  if (known == seen_.end() || known->second.task == 0) return std::nullopt;
  Address stack = 0;
  const Address place = known->second.task;
  if (!read(port, place + layout_.stack.offset, stack)) return std::nullopt;
  Registers registers;
  for (std::size_t cpu = 0; cpu < processors_.size(); ++cpu) {
    const auto now = running_on(port, cpu);
    if (!now || now->task != place) continue;
    const auto there = port.registers(processors_[cpu]);
    // In an interrupt it is on another stack.
    return there && there->sp() - stack < kStack ? there : std::nullopt;
  }
  if (!read(port, place + layout_.stack_pointer.offset, registers[kRsp])) return std::nullopt;
  return registers.sp() - stack < kStack ? std::optional(registers) : std::nullopt;
}

bool KernelTasks::lives(DebuggerPort& port, long task) {
  const auto known = seen_.find(task);
  if (known == seen_.end() || known->second.task == 0) return true;
  const auto facts = this->facts(port, known->second.task);
  return facts && (task < 0 || facts->pid == task);
}

std::size_t KernelTasks::stack_piece(Address address, std::size_t wanted) {
  if (wanted <= kSmall) return wanted;
  const bool next = address >= last_piece_ && address - last_piece_ < kReach;
  last_piece_ = address;
  const Address rest = kStack - address % kStack;
  return static_cast<std::size_t>(std::min<Address>({wanted, next ? kNextPiece : kFirstPiece, rest}));
}

std::uint64_t KernelTasks::boot(DebuggerPort& port, Address init_task) const {
  std::uint64_t canary = 0;
  if (layout_.canary.size == 0 || !read(port, init_task + layout_.canary.offset, canary)) return 0;
  return canary;
}

}  // namespace refhist
