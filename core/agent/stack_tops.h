// The inner parts of stacks that were captured before, each on top of an entry of the previous stack: where a
// program takes the same few ways again and again, a stack is found without a walk. Freestanding.
#pragma once

#include "agent/previous_stack.h"

namespace refhist::agent {

class StackTops {
 public:
  /// As long as the entry and these words are what they were, the stack is.
  struct Top {
    uint64_t slot;  ///< of the innermost frame
    uint64_t key;
    uint64_t rbp;
    uint64_t entry_serial;
    int32_t entry;  ///< of the previous stack
    uint32_t node;
    uint16_t frames;
    bool uses_rbp;  ///< a rule of a frame does
    uint8_t words;
    PreviousStack::Word word[PreviousStack::kTopWords];  ///< inner ones first, up to the entry's
  };

  /// nullptr when none is known, or it does not hold. What is further out than the entry is not looked at.
  const Top* find(uint64_t slot, uint64_t rbp, const PreviousStack& previous) const {
    const uint64_t key = word_at(slot);
    const unsigned place = place_of(slot, key);
    const Top* top = &tops_[place];
    if (!is_of(*top, slot, key)) {
      top = &tops_[place ^ 1];
      if (!is_of(*top, slot, key)) return nullptr;
    }
    if (!is_based(*top, previous) || (top->uses_rbp && top->rbp != rbp)) return nullptr;
    for (unsigned i = 0; i < top->words; ++i) {
      if (word_at(top->word[i].at) != top->word[i].value) return nullptr;
    }
    return top;
  }

  /// What the previous stack now has further in than the entry; `frame` is the innermost one.
  void put(const StackStep& frame, const PreviousStack& previous, int entry) {
    const int last = previous.count() - 1;
    Top& top = room_for(frame.slot, frame.key, previous);
    const int words = previous.top_words(entry, top.word);
    if (words == 0) {
      top.slot = 0;
      return;
    }
    top.slot = frame.slot;
    top.key = frame.key;
    top.rbp = frame.rbp;
    top.entry_serial = previous.serial(entry);
    top.entry = entry;
    top.node = previous.node(last);
    top.frames = static_cast<uint16_t>(last + 1);
    top.uses_rbp = previous.needs_rbp(last);
    top.words = static_cast<uint8_t>(words);
  }

 private:
  static constexpr unsigned kBits = 7;
  /// The same call may be made at several depths.
  static unsigned place_of(uint64_t slot, uint64_t key) {
    return static_cast<unsigned>((key + (slot << 16)) * 0x9e3779b97f4a7c15ULL >> (64 - kBits));
  }
  static bool is_of(const Top& top, uint64_t slot, uint64_t key) {
    return ((top.slot ^ slot) | (top.key ^ key)) == 0;
  }
  static bool is_based(const Top& top, const PreviousStack& previous) {
    return top.entry < previous.count() && previous.serial(top.entry) == top.entry_serial;
  }
  /// Its own, or one of both that can be spared.
  Top& room_for(uint64_t slot, uint64_t key, const PreviousStack& previous) {
    Top& first = tops_[place_of(slot, key)];
    Top& second = tops_[place_of(slot, key) ^ 1];
    if (is_of(first, slot, key)) return first;
    return is_of(second, slot, key) || is_based(first, previous) ? second : first;
  }

  Top tops_[1 << kBits];
};

}  // namespace refhist::agent
