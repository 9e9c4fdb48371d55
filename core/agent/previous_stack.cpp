#include "agent/previous_stack.h"

namespace refhist::agent {

/// Where the frames inside have saved rbx.
uint64_t PreviousStack::rbx_at(int at) const {
  for (int inside = at + 1; more_[inside].rule.kind() == RuleKind::rsp_rbx; ++inside) {
    const uint64_t save = more_[inside].rule.rbx_save();
    if (save != 0) return slots_[kPad + inside - 1] + 8 - 8 * save;
    // It is kept, so there is a frame further in: a walk does not join at such a one.
    if (more_[inside + 1].rule.kind() == RuleKind::signal) return slots_[kPad + inside + 1] + 8 + kContextRbx;
  }
  return 0;
}

/// The state of an entry as far as its rule asks for it.
Frame PreviousStack::entry(int at) const {
  Frame frame{.slot = slots_[kPad + at],
              .key = keys_[kPad + at],
              .rbp = more_[at].rbp,
              .rbp_at = 0,
              .context = 0,
              .rbx_at = 0};
  if (!more_[at].rule.asks_for_more()) return frame;
  // The frame inside may be the return of a handler, with the ucontext at its rsp.
  if (more_[at + 1].rule.kind() == RuleKind::signal) frame.context = slots_[kPad + at + 1] + 8;
  frame.rbx_at = rbx_at(at);
  return frame;
}

int PreviousStack::top_words(int at, Word* words) const {
  int number = 0;
  for (int i = count() - 2; i >= at; --i) {
    const uint32_t flags = flags_[kPad + i];
    if ((flags & kCheckStep) != 0 || number + 2 > kTopWords) return 0;
    words[number++] = {slots_[kPad + i], keys_[kPad + i]};
    if ((flags & kCheckRbp) != 0) words[number++] = {more_[i].rbp_at, more_[i].rbp};
  }
  return number;
}

/// Whether the rule of the frame inside still leads here. That frame's rbp has been checked, if the rule uses
/// it.
bool PreviousStack::steps_to(int at, ReadableMemory& memory, bool system_calls) const {
  Frame frame = entry(at + 1);
  return step_outward(memory, system_calls, more_[at + 1].rule, frame) == Way::caller &&
         frame.slot == slots_[kPad + at] && frame.key == keys_[kPad + at];
}

bool PreviousStack::is_there(int at, ReadableMemory& memory, bool system_calls) const {
  const uint32_t flags = flags_[kPad + at];
  if ((flags & kCheckStep) != 0) {
    if (!steps_to(at, memory, system_calls)) return false;
  } else if (word_at(slots_[kPad + at]) != keys_[kPad + at]) {
    return false;
  }
  return (flags & kCheckRbp) == 0 || word_at(more_[at].rbp_at) == more_[at].rbp;
}

int PreviousStack::differs_checked(int from, int to, ReadableMemory& memory, bool system_calls) const {
  for (int i = from; i >= to; --i) {
    if (!is_there(i, memory, system_calls)) return i;
  }
  return kNothing;
}

/// Whether the outermost entry still has no caller, where that hung on what memory held.
bool PreviousStack::ends(ReadableMemory& memory, bool system_calls) const {
  Frame frame = entry(0);
  const Way way = step_outward(memory, system_calls, more_[0].rule, frame);
  return way == (root_ == kWholeRoot ? Way::outermost : Way::cut);
}

}  // namespace refhist::agent
