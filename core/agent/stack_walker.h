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
#include "agent/walker_shared.h"

namespace refhist::agent {

constexpr unsigned kHighestLimit = 80;

/// To be zeroed before the first use, and again when another thread takes it over. One capture at a time: a
/// signal handler that interrupts a capture brings its own.
struct WalkerThread {
  ReadableMemory memory;
  PreviousStack previous;
  RuleFinder rules;

  StackStep steps[kWalkerFrames];  ///< the walk, innermost frame first
};

struct Captured {
  uint32_t node;   ///< kCutRoot: no frame, for want of room or a readable stack
  uint16_t depth;  ///< frames, up to the limit
  bool truncated;  ///< the stack goes on, but is too deep, or cannot be followed
};

/// At a function's entry: the return address is at [entry_sp], rbp is the caller's. Frames are return
/// addresses outward. `limit` is at most kHighestLimit.
Captured capture(WalkerShared* shared, WalkerThread* thread, uint64_t entry_sp, uint64_t rbp, unsigned limit);

}  // namespace refhist::agent
