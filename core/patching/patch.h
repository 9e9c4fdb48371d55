// Where and how the entry of one function is patched: a 5-byte `jmp rel32` over whole instructions that can
// be moved.
//
// Only what is certain is patched. Everything else gets a reason, and is left to a breakpoint:
// - The jump stands at the entry, or behind a leading endbr64: that keeps the place where indirect calls
//   must land under CET, and a debugger that looks at the patched prologue still finds endbr64 and puts its
//   `break f` on the first byte of the jump, where a breakpoint does no harm.
// - A debugger puts breakpoints into the function that nobody tells of: where a step into it, or `advance`,
//   stops (PatchRequest::stops). None may come to stand inside the jump. The jump stands right there, then,
//   if the instructions before can be taken back (FunctionStart); so it does behind the frame and the stored
//   arguments that a function at -O0 begins with, where a debugger that looks at the prologue in memory
//   still finds it.
// - It stands later when a byte that must be kept lies in the way, as long as only instructions are skipped
// that
//   build the frame or save a register. Then rsp is `sp_delta` lower than at the entry.
// - Nothing else may lead into the covered bytes (BranchTargets), no other function may begin there, and what
// follows
//   the last instruction that runs must be padding.
// - A call must be the last covered instruction. Threads may be inside that call while the patch is written:
// their
//   return address must not be overwritten. So a landing pad of a C++ exception is never covered either: it
//   stands neither in the straight-line prologue, nor behind a ret or jmp, since nothing but padding is taken
//   from there.
// - In the middle of a function (an inlined copy) the jump stands at the instruction, or at one of those
// right
//   before it, which then run in the stub first. A landing pad is not covered there either: nothing falls
//   through into one.
// - A system call instruction in the covered bytes is moved; a thread that sleeps in it has its pc translated
// by whoever
//   writes the patch (Relocated::boundaries), as for any thread in the covered bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "x86/branch_targets.h"
#include "x86/code_range.h"
#include "x86/function_start.h"

namespace refhist {

/// An instruction in the middle of a function, and the stack as it is there.
struct InsideFunction {
  CodeRange enclosing;        ///< the whole function
  std::int32_t sp_delta = 0;  ///< bytes that rsp lies below its value at the function's entry
  std::vector<PushedRegister> pushed;
  bool by_frame_pointer = false;  ///< rbp points at the caller's; sp_delta is not known

  /// The frame is the same.
  bool operator==(const InsideFunction& other) const {
    return sp_delta == other.sp_delta && pushed == other.pushed && by_frame_pointer == other.by_frame_pointer;
  }
};

constexpr unsigned kLongestPrefix = 16;  ///< bytes

struct PatchRequest {
  CodeRange function;                   ///< its original bytes; `inside`: from the instruction on
  std::span<const std::uint8_t> after;  ///< bytes after its end, up to the next symbol
  std::vector<Address> keep;            ///< addresses that must not be overwritten: breakpoints of the user
  std::vector<Address> stops = {};      ///< where the debugger may put breakpoints of its own; ascending
  bool frame_shows = true;           ///< the debugger looks for the frame in memory: the jump stands behind
  std::vector<Address> others = {};  ///< the same, of other sites and of their patches
  std::optional<InsideFunction> inside = std::nullopt;
};

struct Patch {
  Address function = 0;                ///< its entry
  Address at = 0;                      ///< where the jump is written
  unsigned length = 0;                 ///< covered bytes: whole instructions, at least the jump's 5
  std::int32_t sp_delta = 0;           ///< bytes that rsp lies below its value at the entry
  bool red_zone_live = false;          ///< code of the function has run before `at`, other than endbr64
  std::vector<std::uint8_t> original;  ///< the `length` bytes at `at`
  std::vector<PushedRegister> pushed;  ///< where `at` is not the entry
  bool by_frame_pointer = false;       ///< as in InsideFunction
  unsigned prefix = 0;                 ///< inside: bytes at `at` that run before the probed instruction
  FunctionStart start;                 ///< has run before `at` and is taken back; sp_delta does not count it
  bool falls_through = true;           ///< control can leave the last covered instruction downwards

  /// Where a thread that has come to the stub is put when it shall make the call, or execute the probed
  /// instruction, once more.
  [[nodiscard]] Address beginning() const { return red_zone_live ? at + prefix : function; }
  /// A thread there is on its way through `start`.
  [[nodiscard]] bool begun(Address pc) const { return !start.empty() && pc > function && pc <= at; }
  /// Does it come to the stub next, as if it had just been called?
  [[nodiscard]] bool jumps_next(Address pc) const { return pc == at || begun(pc); }
};

struct PatchResult {
  std::optional<Patch> patch;
  std::string why_not;  ///< one line, when there is no patch
};

/// The first `bytes` of the patch, with no way back behind them; and what follows them.
Patch first_part(const Patch& patch, unsigned bytes);
Patch rest_of(const Patch& patch, unsigned bytes);
/// As if it had covered `start`, too.
Patch with_start(const Patch& patch);

PatchResult plan_patch(const PatchRequest& request, const BranchTargets& targets);

}  // namespace refhist
