#include "events/repeated_hits.h"

#include <fmt/core.h>

#include <string>

#include "base/task_status.h"
#include "symbols/mapped_region.h"

namespace refhist {

namespace {
constexpr Address kNear = 16384;      // two places of one stack, as a rule
constexpr Address kHandler = 65536;   // what a handler and its calls use of a signal stack
constexpr std::size_t kDeepest = 64;  // what siglongjmp has left behind is dropped in the end
constexpr Address kSearched = 64 << 20;

bool near(Address a, Address b) { return (a > b ? a - b : b - a) <= kNear; }

/// Whether the thread has any handler.
bool catches_signals(long pid, long tid) {
  return task_status(pid, "SigCgt", tid).find_first_not_of('0') != std::string::npos;
}
}  // namespace

RepeatedHits::Frames RepeatedHits::on_signal_stack(SignalFrames& frames, const Thread& thread,
                                                   const Registers& stands) {
  if (!thread.signal_stack) return {};
  return frames.find(stands, thread.signal_stack->begin, thread.signal_stack->end);
}

RepeatedHits::Frames RepeatedHits::frames_of(SignalFrames& frames, Thread& thread, const Registers& stands,
                                             const Registers& now) const {
  Frames found = frames.find_below(stands);
  if (found.empty()) found = on_signal_stack(frames, thread, stands);
  // The thread is on another stack, which may be a signal stack that is not known yet: the frame lies above.
  if (found.empty() && !near(stands.sp(), now.sp())) {
    found = frames.find(stands, now.sp(), now.sp() + kHandler);
  }
  if (!found.empty()) thread.signal_stack = frames.signal_stack(found.front());
  return found;
}

/// The signal stack may be anywhere. It is known as soon as one frame was seen there.
RepeatedHits::Frames RepeatedHits::anywhere(const ProgramAccess& access, long tid, SignalFrames& frames,
                                            const Registers& stands) {
  const ProcessInfo& process = access.process();
  if (!process.local || !catches_signals(process.pid, tid)) return {};
  Address searched = 0;
  for (const MemoryRegion& region : read_proc_maps(process.pid)) {
    if (!region.writable || region.end - region.begin > kSearched - searched) continue;
    searched += region.end - region.begin;
    Frames found = frames.find(stands, region.begin, region.end);
    if (!found.empty()) return found;
  }
  return {};
}

void RepeatedHits::make_void(const SignalFrames& frames, Thread& thread, const Frames& found) {
  if (found.empty()) return;
  thread.signal_stack = frames.signal_stack(found.front());
  for (const Address frame : found) frames.make_void(frame);
}

bool RepeatedHits::is_repeated(const ProgramAccess& access, long tid, const Registers& registers) {
  Thread& thread = threads_[tid];
  SignalFrames frames(access.memory());
  while (!thread.standing.empty()) {
    const Registers& stands = thread.standing.back();
    const bool same = stands.value == registers.value;
    Frames found = frames_of(frames, thread, stands, registers);
    if (found.empty() && same) {
      const std::optional<bool> again = access.port().is_hit_again(registers.pc());
      if (again.value_or(false)) return true;
      if (!again && !thread.signal_stack) found = anywhere(access, tid, frames, stands);
    }
    if (found.empty()) {  // the thread has gone on from there
      thread.standing.pop_back();
      continue;
    }
    if (!same) break;  // it stands there still, below the handler that has come here
    make_void(frames, thread, found);
    return true;
  }
  make_void(frames, thread, frames.find_below(registers));
  make_void(frames, thread, on_signal_stack(frames, thread, registers));
  if (thread.standing.size() == kDeepest) thread.standing.erase(thread.standing.begin());
  thread.standing.push_back(registers);
  return false;
}

void RepeatedHits::take_back(long tid) {
  const auto thread = threads_.find(tid);
  if (thread != threads_.end() && !thread->second.standing.empty()) thread->second.standing.pop_back();
}

}  // namespace refhist
