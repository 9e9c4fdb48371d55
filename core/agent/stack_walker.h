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

#include "agent/readable_memory.h"
#include "agent/rule_finder.h"
#include "agent/walker_shared.h"

namespace refhist::agent {

/// Frames kept per thread. A walk goes half as deep again as it must, so that a stack at the limit can shrink
/// and grow without a new walk each time.
constexpr unsigned kWalkerFrames = 128;
constexpr unsigned kHighestLimit = 80;

/// To be zeroed before the first use, and again when another thread takes it over. One capture at a time: a
/// signal handler that interrupts a capture brings its own.
struct WalkerThread {
  static constexpr uint32_t kCheckRbp = 1;   ///< rbp was read from rbp_at, and an outer frame uses it
  static constexpr uint32_t kCheckStep = 2;  ///< the frame was not reached by a plain rule
  static constexpr uint32_t kNeedsRbp = 4;   ///< an outer frame uses this frame's rbp

  ReadableMemory memory;
  RuleFinder rules;

  // The previous stack, outermost frame first. Entry i is what the rule of entry i+1 leads to; the words that
  // this hung on are the one at its slot and those that its flags name.
  uint32_t count;  ///< entries; those beyond `last` are of an even earlier, deeper capture
  uint32_t last;   ///< the entry that the last capture ended with
  uint32_t root;
  uint32_t limit_cut;      ///< the stack goes on outward
  uint32_t end_by_memory;  ///< it ends because of what memory held, not because of a rule
  uint64_t slots[kWalkerFrames];
  uint64_t keys[kWalkerFrames];
  uint64_t hashes[kWalkerFrames];
  uint64_t rbps[kWalkerFrames];
  uint64_t rbp_ats[kWalkerFrames];
  uint32_t nodes[kWalkerFrames];
  FrameRule frame_rules[kWalkerFrames];
  uint8_t flags[kWalkerFrames];

  // The walk, innermost frame first.
  struct Step {
    uint64_t slot;
    uint64_t key;
    uint64_t rbp;
    uint64_t rbp_at;
    FrameRule rule;
    uint32_t plain;
  } steps[kWalkerFrames];
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
