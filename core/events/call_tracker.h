// Calls that have begun and not been seen to end, for each thread.
//
// A call is known by the stack pointer at its entry: the return address lies there, so no later call of the
// thread can have the same value before this one is over. What a thread has left behind by longjmp or a
// C++ exception is dropped as soon as the thread is seen further out on the same stack.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "events/recorded_stack.h"
#include "history/history.h"
#include "symbols/unwinder.h"

namespace refhist {

/// A call whose object or outcome is known only at its return.
struct PendingCall {
  SiteId site;
  int watch = -1;  ///< a function watched with --after: its number, and no site
  Address sp = 0;  ///< at entry
  Address return_pc = 0;
  Address argument = 0;    ///< the object, or where the pointer to it will be
  Address pool = 0;        ///< the pool that the object comes from
  std::uint64_t size = 0;  ///< bytes asked of an allocator
  Count before;
  StackId stack;
  std::uint64_t time_ns = 0;
  EventId first_inside;         ///< the next event id at entry
  std::uint64_t expected = 0;   ///< of a compare-and-exchange: the counter's bytes before
  std::uint64_t exchanged = 0;  ///< and after, if it succeeds
};

/// A get or put recorded at its entry, whose effect may not have reached memory yet.
struct OpenCall {
  SiteId site;
  ObjectId object;
  Address address = 0;  ///< of the object
  Address sp = 0;
  Address return_pc = 0;
  std::int64_t delta = 0;
  Count before;
  Address copy_begin = 0;  ///< an inlined copy, no call: it is running while a frame lies in here
  Address copy_end = 0;
};

struct ThreadCalls {
  long tid = 0;
  std::vector<PendingCall> pending;
  std::vector<OpenCall> open;
  EventId told;  ///< behind the newest event of the thread; of a new one, the first of all
};

class CallTracker {
 public:
  ThreadCalls& thread(long tid) { return last_ != nullptr && last_->tid == tid ? *last_ : find_thread(tid); }
  std::unordered_map<long, ThreadCalls>& threads() { return threads_; }
  void clear() {
    threads_.clear();
    last_ = nullptr;
  }
  void forget(long tid) {
    threads_.erase(tid);
    last_ = nullptr;
  }

  /// Does this place of the thread's stack no longer hold that return address?
  using SlotCheck = std::function<bool(Address slot, Address return_pc)>;
  /// Drops calls of the thread that are over, now that it enters a function at `sp`. A pending call further
  /// in is over once its return address has been overwritten: the stack pointer alone does not tell, as it
  /// may belong to another stack (coroutine, signal stack).
  static void close_finished(ThreadCalls& thread, Address sp, std::span<const RawFrame> frames,
                             const SlotCheck& overwritten);
  /// The same for a recorded stack, of which nothing tells that it has been overwritten. Returns where the
  /// call that begins is to be put: all of it is to be set.
  static OpenCall& open_next(ThreadCalls& thread, Address sp, const RecordedStack& stack) {
    const bool again = thread.open.size() == 1 && thread.open.front().sp == sp;
    return again ? thread.open.front() : open_among(thread, sp, stack);
  }
  static void add_pending(ThreadCalls& thread, PendingCall call);
  /// The innermost call that ends with this return, taken out of the list.
  static std::optional<PendingCall> take_returned(ThreadCalls& thread, Address return_pc,
                                                  Address sp_after_return);

 private:
  ThreadCalls& find_thread(long tid);
  static OpenCall& open_among(ThreadCalls& thread, Address sp, const RecordedStack& stack);

  std::unordered_map<long, ThreadCalls> threads_;
  ThreadCalls* last_ = nullptr;  // that was asked for
};

}  // namespace refhist
