#include "reachability/reachability_roots.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

namespace refhist {

namespace {

// A leaf function may use this much below its stack pointer.
constexpr Address kRedZone = 128;

struct NamedRegister {
  Register number;
  const char* name;
  bool saved;  // by the function that is called
};
constexpr std::array<NamedRegister, 15> kRegisters = {{{kRbx, "rbx", true},
                                                       {kRbp, "rbp", true},
                                                       {kR12, "r12", true},
                                                       {kR13, "r13", true},
                                                       {kR14, "r14", true},
                                                       {kR15, "r15", true},
                                                       {kRax, "rax", false},
                                                       {kRdx, "rdx", false},
                                                       {kRcx, "rcx", false},
                                                       {kRsi, "rsi", false},
                                                       {kRdi, "rdi", false},
                                                       {kR8, "r8", false},
                                                       {kR9, "r9", false},
                                                       {kR10, "r10", false},
                                                       {kR11, "r11", false}}};

AddressRange intersection(AddressRange a, AddressRange b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace

RootSet::RootSet(const MemoryLayout& layout, HeapMap& heap, std::vector<ThreadBlock> blocks,
                 std::vector<RootThread> threads, const std::vector<RegisterRoot>& kernel)
    : blocks_(std::move(blocks)), threads_(std::move(threads)) {
  for (const ThreadBlock& block : blocks_) {
    if (block.cached) dead_.push_back(block.stack);
  }
  for (RootThread& thread : threads_) add_thread(layout, heap, thread);
  registers_.insert(registers_.end(), kernel.begin(), kernel.end());
  add_ranges(layout, heap);
}

// A stack of unknown extent (a coroutine's, in the middle of other memory) is a root as a whole.
AddressRange RootSet::stack_of(const MemoryLayout& layout, Address sp) const {
  const WritableRegion* region = layout.at(sp);
  if (region == nullptr) return {};
  for (const ThreadBlock& block : blocks_) {
    if (block.stack.contains(sp)) return intersection(block.stack, region->range);
  }
  return region->main_stack || region->guarded ? region->range : AddressRange{};
}

void RootSet::add_thread(const MemoryLayout& layout, HeapMap& heap, RootThread& thread) {
  const Address sp = thread.registers.sp();
  thread.stack_begin = thread.saved_only ? sp : sp - kRedZone;
  add_registers(thread);
  if (const std::optional<HeapBlock> block = heap.block_at(sp)) {
    // A stack that the program has allocated: its used part is a root, whoever holds the block.
    thread.stack = {block->begin(), block->end()};
    ranges_.push_back({intersection({thread.stack_begin, block->end()}, thread.stack), Backing::anonymous});
    registers_.push_back({sp, fmt::format("stack of thread {}", thread.tid)});
    return;
  }
  thread.stack = stack_of(layout, sp);
  if (thread.stack.size() != 0) dead_.push_back({thread.stack.begin, thread.stack_begin});
}

void RootSet::add_registers(const RootThread& thread) {
  for (const NamedRegister& r : kRegisters) {
    if (thread.saved_only && !r.saved) continue;
    registers_.push_back(
        {thread.registers[r.number], fmt::format("register {} of thread {}", r.name, thread.tid)});
  }
  if (thread.saved_only) return;  // no function saves vector registers for its caller
  for (const Address word : thread.vector_words)
    registers_.push_back({word, fmt::format("vector register of thread {}", thread.tid)});
}

bool RootSet::in_a_stack(Address address) const {
  return std::any_of(threads_.begin(), threads_.end(),
                     [&](const RootThread& thread) { return thread.stack.contains(address); });
}

void RootSet::add_ranges(const MemoryLayout& layout, const HeapMap& heap) {
  std::vector<AddressRange> holes = heap.used();
  holes.insert(holes.end(), dead_.begin(), dead_.end());
  std::vector<RootRange> stacks = std::move(ranges_);
  ranges_.clear();
  for (const Backing backing : {Backing::module, Backing::anonymous, Backing::file}) {
    for (const AddressRange& range : subtract(layout.ranges(backing), holes)) {
      (in_a_stack(range.begin) ? stacks : ranges_).push_back({range, backing});
    }
  }
  ranges_.insert(ranges_.end(), stacks.begin(), stacks.end());
}

}  // namespace refhist
