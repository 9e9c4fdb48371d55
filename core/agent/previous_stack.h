// The stack that a thread captured last, and how far it still holds. Freestanding.
#pragma once

#include "agent/frame_step.h"

namespace refhist::agent {

/// Frames kept. A walk goes half as deep again as it must, so that a stack at the limit can shrink and grow
/// without a new walk each time.
constexpr unsigned kWalkerFrames = 128;

/// A frame of a walk.
struct StackStep {
  uint64_t slot;
  uint64_t key;
  uint64_t rbp;
  uint64_t rbp_at;
  FrameRule rule;
  uint16_t traits;  ///< of the rule
  uint16_t link;    ///< which words beside the one at the slot have led to the frame: flags of PreviousStack
};

/// Entries are in order, the outermost frame first: entry i is what the rule of entry i+1 leads to, by the
/// word at its slot and those that its flags name.
class PreviousStack {
 public:
  static constexpr int kNothing = -1;
  static constexpr uint32_t kCheckRbp = 1;   ///< flag: rbp was read from rbp_at (and an outer frame uses it)
  static constexpr uint32_t kCheckStep = 2;  ///< flag: the entry was reached by a special rule
  static constexpr int kTopWords = 24;
  struct Word {
    uint64_t at;
    uint64_t value;
  };

  int count() const { return static_cast<int>(count_); }
  uint32_t root() const { return root_; }
  uint32_t node(int at) const { return more_[at].node; }
  uint64_t hash(int at) const { return more_[at].hash; }
  /// Changes whenever the entry, or one further out, does.
  uint64_t serial(int at) const { return more_[at].serial; }
  bool needs_rbp(int at) const { return (flags_[kPad + at] & kNeedsRbp) != 0; }

  void clear() { count_ = 0; }
  /// What is further in is none of it.
  void cut(int count) { count_ = static_cast<uint32_t>(count); }
  void set_end(uint32_t root, bool limit_cut, bool by_memory) {
    root_ = root;
    limit_cut_ = limit_cut ? 1 : 0;
    end_by_memory_ = by_memory ? 1 : 0;
    for (int i = 0; i < kPad; ++i) slots_[i] = reinterpret_cast<uint64_t>(&padding_);  // 0, as the keys are
  }

  /// The words that lead from the innermost entry to this one, inner ones first; how many, or 0 when they are
  /// more than kTopWords or words alone do not tell.
  int top_words(int at, Word* words) const;

  /// The entry that is the same state as the frame; kNothing when none is found.
  int same(const Frame& frame) const {
    const unsigned at = places_[place(frame.slot)];
    if (((slots_[kPad + at] ^ frame.slot) | (keys_[kPad + at] ^ frame.key)) != 0) return kNothing;
    // Where another register counts, the state is more than is compared here: that frame is walked anew.
    if (at >= count_ || more_[at].rule.asks_for_more()) return kNothing;
    return needs_rbp(static_cast<int>(at)) && more_[at].rbp != frame.rbp ? kNothing : static_cast<int>(at);
  }

  /// Frames are not missing that were beyond the limit.
  bool is_long_enough(unsigned depth, unsigned limit) const { return limit_cut_ == 0 || depth > limit; }
  /// All further out than this entry is as it was, as the words at the slots tell. False: it may be all the
  /// same.
  bool holds_plainly(int at) const { return end_by_memory_ == 0 && first_in_question(at - 1) == kNothing; }
  /// The first entry further out than this one that is no longer what is on the stack, or 0 when only the end
  /// is; kNothing when all is as it was.
  int differs(int at, ReadableMemory& memory, bool system_calls) const;

  /// Another frame inside leads to the entry now, perhaps in another way.
  void relink(int at, const StackStep& step) {
    more_[at].rbp = step.rbp;
    more_[at].rbp_at = step.rbp_at;
    flags_[kPad + at] = flags_of(needs_rbp(at) ? 1 : 0, step);
  }

  /// The frame inside entry at-1; `cut` must follow. `needs_rbp` is 1 when this frame or one further out uses
  /// rbp as it is in here.
  void put(int at, const StackStep& step, uint32_t needs_rbp, uint64_t hash, uint32_t node) {
    places_[place(step.slot)] = static_cast<uint8_t>(at);
    slots_[kPad + at] = step.slot;
    keys_[kPad + at] = step.key;
    flags_[kPad + at] = flags_of(needs_rbp, step);
    More& more = more_[at];
    more.rbp = step.rbp;
    more.rbp_at = step.rbp_at;
    more.hash = hash;
    more.serial = ++serial_;
    more.node = node;
    more.rule = step.rule;
  }

 private:
  static constexpr uint32_t kNeedsRbp = 4;
  struct More {
    uint64_t rbp;
    uint64_t rbp_at;
    uint64_t hash;
    uint64_t serial;
    uint32_t node;
    FrameRule rule;
  };
  static constexpr unsigned kPlaces = 512;
  static constexpr int kTogether = 8;  // looked at
  static constexpr int kPad = kTogether - 1;

  static unsigned place(uint64_t slot) { return slot >> 3 & (kPlaces - 1); }
  /// Without a branch: what a program's frames need is hard to guess.
  static uint8_t flags_of(uint32_t needs_rbp, const StackStep& step) {
    return static_cast<uint8_t>(((step.link | kNeedsRbp) & (0 - needs_rbp)) | (step.link & kCheckStep));
  }
  uint64_t flags_of_all(int first) const {
    uint64_t flags = 0;
    static_assert(sizeof flags == kTogether);
    __builtin_memcpy(&flags, flags_ + kPad + first, sizeof flags);
    return flags;
  }
  /// Inner ones first.
  bool all_are_there(int first) const {
    const uint64_t* slots = slots_ + kPad + first;
    const uint64_t* keys = keys_ + kPad + first;
#pragma GCC unroll 8
    for (int i = kTogether - 1; i >= 0; --i) {
      if (word_at(slots[i]) != keys[i]) return false;
    }
    return true;
  }
  Frame entry(int at) const;
  uint64_t rbx_at(int at) const;
  bool is_there(int at, ReadableMemory& memory, bool system_calls) const;
  bool steps_to(int at, ReadableMemory& memory, bool system_calls) const;
  bool ends(ReadableMemory& memory, bool system_calls) const;
  /// From this entry outward, the first of those looked at together that are not plainly as they were;
  /// kNothing when all are.
  int first_in_question(int from) const {
    constexpr uint64_t kAnyCheck = 0x0101010101010101 * (kCheckRbp | kCheckStep);
    int i = from;
    while (i >= 0 && (flags_of_all(i - kPad) & kAnyCheck) == 0 && all_are_there(i - kPad)) i -= kTogether;
    return i >= 0 ? i : kNothing;
  }
  int differs_checked(int from, int to, ReadableMemory& memory, bool system_calls) const;

  uint64_t serial_;  ///< of the newest entry
  uint32_t count_;
  uint32_t root_;
  uint32_t limit_cut_;      ///< the stack goes on outward
  uint32_t end_by_memory_;  ///< it ends because of what memory held, not because of a rule
  // With entries beyond the outermost one that always hold, so that several can be looked at together to the
  // end.
  uint64_t padding_;
  uint64_t slots_[kPad + kWalkerFrames];
  uint64_t keys_[kPad + kWalkerFrames];
  uint8_t flags_[kPad + kWalkerFrames];
  More more_[kWalkerFrames];
  uint8_t places_[kPlaces];  ///< the entry of a slot, by the low bits of its address
};

/// In order, each look only after the one before has shown that there is a frame.
inline int PreviousStack::differs(int at, ReadableMemory& memory, bool system_calls) const {
  for (int i = first_in_question(at - 1); i >= 0; i = first_in_question(i - kTogether)) {
    const int different = differs_checked(i, i >= kPad ? i - kPad : 0, memory, system_calls);
    if (different != kNothing) return different;
  }
  return end_by_memory_ != 0 && !ends(memory, system_calls) ? 0 : kNothing;
}

}  // namespace refhist::agent
