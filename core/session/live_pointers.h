// The pointers to an object that something may still use: in memory, and in frames that will read them again.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "events/program_access.h"
#include "session/followed_way.h"
#include "session/session_state.h"
#include "x86/place_reads.h"

namespace refhist {

/// What a pointer points at: the object, and maybe blocks that lead to it.
using PointedAt = std::vector<AddressRange>;
bool contains(const PointedAt& ranges, Address address);

struct LiveFrame {
  long tid = 0;
  RawFrame raw;
  Address sp = 0;         ///< the stack pointer as the frame sees it
  Address return_pc = 0;  ///< 0: not known
  Registers registers;    ///< Unwinder::unwind
  bool innermost = false;
  bool returned = false;     ///< innermost, and a call has just returned to it,
  bool two_results = false;  ///< with a small structure in rax and rdx
};

/// As a history has it.
inline StackFrame stack_frame(const LoadedModule& loaded, const RawFrame& raw) {
  return {loaded.id, raw.pc - loaded.bias, raw.exact};
}

/// A call that has just returned.
enum class LiveReturn : std::uint8_t { none, value, structure };

/// By debug information, it may come back in two registers.
bool returns_structure(SessionState& state, const NamedFrame& frame);

/// Of one thread, innermost first.
struct LiveStack {
  std::vector<LiveFrame> frames;
  bool whole = false;  ///< the outermost one was reached
};

struct LiveCopies {
  std::vector<NewHolder> memory;  ///< outside of stacks
  std::vector<NewHolder> stacks;  ///< words of stacks, whether they will be read or not
  std::vector<LiveFrame>
      frames;                 ///< those that will read it, of the thread that was asked first before others
  std::size_t in_frames = 0;  ///< registers and words of those frames
  std::string why_not_all;    ///< why there may be more; empty when there are none
  [[nodiscard]] std::size_t count() const { return memory.size() + in_frames; }
};

class LivePointers {
 public:
  explicit LivePointers(SessionState& state) : state_(state), reads_(state.namer.code_graph()) {}

  /// `registers`: of the thread, which is looked at first; `returned`: to it.
  LiveCopies find(const ProgramAccess& access, const PointedAt& object, long tid, const Registers& registers,
                  LiveReturn returned);
  LiveStack stack(const ProgramAccess& access, long tid, const Registers& registers, std::size_t limit);
  /// Registers and words of the frame that have the pointer and will be read.
  std::size_t in_frame(const ProgramAccess& access, const PointedAt& object, const LiveFrame& frame);
  /// Of the frame's functions, by debug information, those that have the pointer.
  std::set<std::string> variables(const ProgramAccess& access, const PointedAt& object,
                                  const LiveFrame& frame) const;

  /// Words of the frame that are variables of a pointer type, by debug information.
  std::set<Address> pointer_variables(const LiveFrame& frame, const LoadedModule& loaded) const;

 private:
  /// How many of the registers and of the words, which hold it, will be read.
  std::size_t will_read(const LiveFrame& frame, const LoadedModule& loaded, const PointedAt& object,
                        const std::vector<Address>& words);

  SessionState& state_;
  PlaceReads reads_;
};

}  // namespace refhist
