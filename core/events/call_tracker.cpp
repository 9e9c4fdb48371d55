#include "events/call_tracker.h"

#include <algorithm>
#include <utility>

namespace refhist {

namespace {
constexpr Address kSlot = 8;  // the return address

// A later call from the same caller begins at the same place of the stack, but returns elsewhere.
bool on_stack(const OpenCall& call, std::span<const RawFrame> frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const RawFrame& frame = frames[i];
    if (call.copy_end != 0) {
      if (!frame.exact && call.copy_begin < frame.pc && frame.pc <= call.copy_end) return true;
    } else if (frame.cfa == 0) {
      if (frame.pc == call.return_pc) return true;
    } else if (frame.cfa == call.sp + kSlot) {
      return i + 1 == frames.size() || frames[i + 1].pc == call.return_pc;
    }
  }
  return false;
}
}  // namespace

ThreadCalls& CallTracker::find_thread(long tid) {
  last_ = &threads_[tid];
  last_->tid = tid;
  return *last_;
}

void CallTracker::close_finished(ThreadCalls& thread, Address sp, std::span<const RawFrame> frames,
                                 const SlotCheck& overwritten) {
  std::erase_if(thread.open, [&](const OpenCall& call) {
    if (call.sp == sp) return true;
    // Stacks are not recorded: a call further in is taken for over, though this may be a signal stack further
    // out.
    if (frames.empty()) return call.sp < sp || (call.copy_end == 0 && overwritten(call.sp, call.return_pc));
    return !on_stack(call, frames);
  });
  std::erase_if(thread.pending, [&](const PendingCall& call) {
    return call.sp < sp && overwritten(call.sp, call.return_pc);
  });
}

OpenCall& CallTracker::open_among(ThreadCalls& thread, Address sp, const RecordedStack& stack) {
  std::erase_if(thread.open, [&](const OpenCall& call) {
    if (call.sp == sp) return true;
    if (stack.frames.empty()) return call.sp < sp;
    if (call.copy_end == 0 && !stack.pcs.may_have(call.return_pc)) return true;
    return !on_stack(call, stack.frames);
  });
  return thread.open.emplace_back();
}

void CallTracker::add_pending(ThreadCalls& thread, PendingCall call) {
  // The same function entered again at the same place: the earlier call never returned (longjmp). Another
  // function there is a tail call, and both return together.
  std::erase_if(thread.pending, [&](const PendingCall& earlier) {
    return earlier.sp == call.sp && earlier.site == call.site && earlier.watch == call.watch;
  });
  thread.pending.push_back(std::move(call));
}

std::optional<PendingCall> CallTracker::take_returned(ThreadCalls& thread, Address return_pc,
                                                      Address sp_after_return) {
  const Address entry_sp = sp_after_return - kSlot;
  for (std::size_t i = thread.pending.size(); i-- > 0;) {
    const PendingCall call = thread.pending[i];
    if (call.sp != entry_sp || call.return_pc != return_pc) continue;
    thread.pending.erase(thread.pending.begin() + static_cast<std::ptrdiff_t>(i));
    return call;
  }
  return std::nullopt;
}

}  // namespace refhist
