// How to get from a frame to its caller, in 32 bits: what the core writes into the rows of a module and the
// agent reads. Freestanding. Only rsp and rbp are followed from frame to frame: nothing else is needed for
// the code that compilers make. The return address is at CFA-8 wherever there is a rule, and rsp of the
// caller is the CFA.
#pragma once

#include <stdint.h>

namespace refhist::agent {

enum class RuleKind : uint32_t {
  none,       ///< no description, or one that cannot be said here: the stack ends and is truncated
  rsp,        ///< CFA = rsp + offset
  rbp,        ///< CFA = rbp + offset
  outermost,  ///< no caller
  signal,     ///< the return of a signal handler: everything is in the ucontext at rsp
  plt,        ///< CFA = rsp + 8, and 8 more from byte `offset` of the 16-byte entry on
  deref_rsp,  ///< CFA = *(rsp + at) + offset
  deref_rbp,  ///< CFA = *(rbp + at) + offset
  other,      ///< CFA = another register + offset: one in a ucontext, or rbx that the frame inside has saved
  rsp_rbx,    ///< CFA = rsp + offset, and it is told where rbx is
};

/// Offsets are in bytes, multiples of 8.
struct FrameRule {
  static constexpr uint32_t kRbpKept = 0;
  static constexpr uint32_t kRbpAtRbp = 255;  ///< saved at *rbp, as functions that realign the stack do
  static constexpr uint32_t kHighestSave = 254;

  uint32_t bits = 0;

  constexpr RuleKind kind() const { return static_cast<RuleKind>(bits & 15); }
  /// Saved at CFA - 8 * this, or one of the constants.
  constexpr uint32_t rbp_save() const { return bits >> 4 & 255; }
  /// Of rsp and rbp.
  constexpr int64_t offset() const { return static_cast<int64_t>(static_cast<int32_t>(bits) >> 12) * 8; }
  constexpr uint32_t plt_threshold() const { return bits >> 12 & 15; }
  /// Of deref_rsp and deref_rbp.
  constexpr int64_t deref_at() const {
    return static_cast<int64_t>(static_cast<int32_t>(bits << 10) >> 22) * 8;
  }
  constexpr int64_t deref_offset() const {
    return static_cast<int64_t>(static_cast<int32_t>(bits) >> 22) * 8;
  }
  /// Of other: the DWARF number of the register.
  constexpr uint32_t other_register() const { return bits >> 12 & 15; }
  constexpr int64_t other_offset() const {
    return static_cast<int64_t>(static_cast<int32_t>(bits) >> 16) * 8;
  }

  /// Of rsp_rbx.
  constexpr int64_t rsp_rbx_offset() const {
    return static_cast<int64_t>(static_cast<int32_t>(bits) >> 20) * 8;
  }
  /// Of rsp_rbx: saved at CFA - 8 * this; 0: it is the caller's still.
  constexpr uint32_t rbx_save() const { return bits >> 12 & 255; }

  /// Whether more than slot, address and rbp of the frame decides about its callers.
  constexpr bool asks_for_more() const {
    return kind() == RuleKind::other || (kind() == RuleKind::rsp_rbx && rbx_save() == 0);
  }

  constexpr bool operator==(const FrameRule& rule) const { return bits == rule.bits; }
};

/// One row of a module: the rule holds from here to the next row.
struct RuleRow {
  uint32_t begin = 0;  ///< from the begin of the module
  FrameRule rule;
};

}  // namespace refhist::agent
