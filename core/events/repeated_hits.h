// Tells a second report of one hit from a second hit.
//
// A signal that arrives while a debugger steps a thread off a breakpoint makes the handler run first. When it
// returns, the thread stands at the breakpoint again, and the debugger reports it again, although the
// instruction there has not been executed: one call, two reports. The proof is the frame that the kernel has
// written for the handler: it goes back to this instruction with these registers. A frame is made void when a
// thread stands where it goes back to, so it proves one repetition, and an old one proves nothing.
//
// GDB reports a hit again also for a signal without a handler; that it knows itself.
//
// What a handler itself runs into comes between the two reports; so a thread can have several places where it
// stands, one above the other.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "events/program_access.h"
#include "events/signal_frames.h"

namespace refhist {

class RepeatedHits {
 public:
  /// A thread stands at a breakpoint of ours. True when this was reported before.
  bool is_repeated(const ProgramAccess& access, long tid, const Registers& registers);
  /// The thread makes the hit's call once more, where it is seen: the next report of it here is no
  /// repetition.
  void take_back(long tid);
  void forget() { threads_.clear(); }

 private:
  struct Thread {
    std::vector<Registers> standing;  ///< hits whose instruction may not have been executed yet
    std::optional<SignalStack> signal_stack;
  };
  using Frames = std::vector<Address>;

  Frames frames_of(SignalFrames& frames, Thread& thread, const Registers& stands, const Registers& now) const;
  static Frames on_signal_stack(SignalFrames& frames, const Thread& thread, const Registers& stands);
  static Frames anywhere(const ProgramAccess& access, long tid, SignalFrames& frames,
                         const Registers& stands);
  static void make_void(const SignalFrames& frames, Thread& thread, const Frames& found);

  std::unordered_map<long, Thread> threads_;
};

}  // namespace refhist
