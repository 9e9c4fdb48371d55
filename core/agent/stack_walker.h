// Captures the stack of the running thread at the entry of a function and names it. Freestanding; runs inside
// the debugged program, in any context: it takes no lock, allocates nothing, and calls nothing but, for a
// page of a stack that it has not seen yet, one harmless system call.
//
// A frame is a state: the caller's rsp (slot + 8), the code address (key) and rbp. The rules of the modules
// and the words on the stack determine the next state. So when a walk comes to a state of the thread's
// previous stack, the rest is what it was if every word that was read there still has its value: the walker
// looks at these words, inner frames first, and walks on where one differs. rbp is compared only in frames
// from which outward some rule uses it before it is restored.
#pragma once

#include "agent/previous_stack.h"
#include "agent/readable_memory.h"
#include "agent/rule_finder.h"
#include "agent/stack_tops.h"
#include "agent/walker_shared.h"

namespace refhist::agent {

constexpr unsigned kHighestLimit = 80;

/// To be zeroed before the first use. One capture at a time: a signal handler that interrupts a capture
/// brings its own.
struct WalkerThread {
  ReadableMemory memory;
  PreviousStack previous;
  StackTops tops;
  RuleFinder rules;

  StackStep steps[kWalkerFrames];  ///< the walk, innermost frame first

  /// Another thread comes, or a capture was left in the middle.
  void forget() {
    memory.forget();
    previous.clear();
    rules.forget();
  }
};

struct Captured {
  uint32_t node;   ///< kCutRoot: no frame, for want of room or a readable stack
  uint16_t depth;  ///< frames, up to the limit
  bool truncated;  ///< the stack goes on, but is too deep, or cannot be followed
};

/// By a walk, up to what still holds of the previous stack.
__attribute__((noinline)) Captured walk_stack(WalkerShared* shared, WalkerThread* thread, uint64_t entry_sp,
                                              uint64_t rbp, unsigned limit);

/// A captured stack as its event has it. `root`: what its outermost frame leads to.
inline Captured cut_to(unsigned limit, uint32_t node, unsigned depth, uint32_t root) {
  const bool deeper = depth > limit;
  return {node, static_cast<uint16_t>(deeper ? limit : depth), deeper || root == kCutRoot};
}

/// At a function's entry: the return address is at [entry_sp], rbp is the caller's. Frames are return
/// addresses outward. `limit` is at most kHighestLimit.
__attribute__((always_inline)) inline Captured capture(WalkerShared* shared, WalkerThread* thread,
                                                       uint64_t entry_sp, uint64_t rbp, unsigned limit) {
  const PreviousStack& previous = thread->previous;
  if (thread->rules.is_current(shared) && thread->memory.known(entry_sp)) {
    const StackTops::Top* top = thread->tops.find(entry_sp, rbp, previous);
    const bool holds =
        top != nullptr && previous.is_long_enough(top->frames, limit) && previous.holds_plainly(top->entry);
    if (holds) return cut_to(limit, top->node, top->frames, previous.root());
  }
  return walk_stack(shared, thread, entry_sp, rbp, limit);
}

}  // namespace refhist::agent
