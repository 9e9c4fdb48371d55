// From a frame to its caller. Freestanding.
#pragma once

#include "agent/frame_rule.h"
#include "agent/readable_memory.h"
#include "agent/walker_shared.h"

namespace refhist::agent {

struct Frame {
  uint64_t slot;  ///< rsp - 8; that is where the return address was, unless a signal interrupted the frame
  uint64_t key;   ///< the code address, and kExact
  uint64_t rbp;
  uint64_t rbp_at;   ///< where rbp was read; 0: it is that of the frame inside
  uint64_t context;  ///< the ucontext of a frame that a signal interrupted; else 0
  uint64_t rbx_at;   ///< where frames inside have saved rbx; 0 when that is not told
};

enum class Way : uint32_t {
  caller,     ///< the frame is the caller now
  outermost,  ///< there is none
  cut,        ///< it cannot be found
};

inline uint64_t word_at(uint64_t address) { return *reinterpret_cast<const volatile uint64_t*>(address); }

/// A rule and what is asked of it again and again.
struct ReadyRule {
  static constexpr uint32_t kNeedsRbp = 1;  ///< it uses the frame's rbp itself
  static constexpr uint32_t kKeepsRbp = 2;  ///< the caller's rbp is the frame's
  static constexpr uint32_t kSpecial =
      4;  ///< the caller hangs on more than the words at its slot and its rbp_at
  static constexpr uint32_t kFast = 8;  ///< for step_fast
  static constexpr uint32_t kFromRbp = 16;

  FrameRule rule;
  uint32_t traits;  ///< and in the upper half how far below the CFA rbp is, in bytes
};

inline ReadyRule ready(FrameRule rule) {
  const RuleKind kind = rule.kind();
  const uint32_t save = rule.rbp_save();
  const bool fast = kind == RuleKind::rsp || kind == RuleKind::rbp;
  const bool at_rbp = save == FrameRule::kRbpAtRbp;
  uint32_t traits = 0;
  if (kind == RuleKind::rbp || kind == RuleKind::deref_rbp || at_rbp) traits |= ReadyRule::kNeedsRbp;
  if (save == FrameRule::kRbpKept && kind != RuleKind::signal) traits |= ReadyRule::kKeepsRbp;
  if (!fast && kind != RuleKind::plt && kind != RuleKind::rsp_rbx) traits |= ReadyRule::kSpecial;
  if (fast && !at_rbp) traits |= ReadyRule::kFast;
  if (kind == RuleKind::rbp) traits |= ReadyRule::kFromRbp;
  return {rule, traits | (save == FrameRule::kRbpKept ? 1 : save) * 8 << 16};
}

/// In the ucontext that the kernel puts at rsp of the return of a signal handler.
constexpr uint64_t kContextRbx = 128;

/// Any step.
Way step_outward(ReadableMemory& memory, bool system_calls, FrameRule rule, Frame& frame);

/// The steps of nearly all code, whose rules are kFast; false when it ends: the frame is then as it was. How
/// a function keeps rbp is hard to guess, so that is done without a branch: where rbp was not saved, a word
/// is read in vain.
inline bool step_fast(const ReadableMemory& memory, ReadyRule rule, Frame& frame) {
  const uint64_t base = (rule.traits & ReadyRule::kFromRbp) != 0 ? frame.rbp - 8 : frame.slot;
  const uint64_t slot = base + static_cast<uint64_t>(rule.rule.offset());
  const uint64_t rbp_at = slot + 8 - (rule.traits >> 16);
  if ((slot & 7) != 0 || slot <= frame.slot || !memory.known(slot) || !memory.known(rbp_at)) return false;
  const uint64_t key = word_at(slot);
  uint64_t rbp = word_at(rbp_at);
  if ((key - 1) >> 62 != 0) return false;
  asm("" : "+r"(rbp));
  const bool kept = (rule.traits & ReadyRule::kKeepsRbp) != 0;
  frame.rbp = kept ? frame.rbp : rbp;
  frame.rbp_at = kept ? 0 : rbp_at;
  frame.slot = slot;
  frame.key = key;
  frame.context = 0;
  frame.rbx_at = 0;
  return true;
}

}  // namespace refhist::agent
