// No address of a Walk is handed out, so that the compiler keeps it in registers: every nanosecond counts
// here.
#include "agent/stack_walker.h"

#include "agent/stack_trie.h"

namespace refhist::agent {

namespace {

constexpr unsigned kAttempts =
    5;  // when the modules change under a capture, or the previous stack is of no use

enum class End : uint32_t { joined, outermost, cut, too_deep, modules_changed };

class Walk {
 public:
  Walk(WalkerShared* shared, WalkerThread& thread, unsigned limit)
      : shared_(shared),
        thread_(thread),
        limit_(limit),
        deepest_(limit + limit / 2),
        system_calls_(shared->no_system_calls == 0) {}

  Captured capture(uint64_t entry_sp, uint64_t rbp);

 private:
  static constexpr int kNothing = PreviousStack::kNothing;
  static Captured nothing() { return {kCutRoot, 0, true}; }

  static uint32_t link_of(uint32_t traits, const Frame& frame) {
    static_assert(ReadyRule::kSpecial == 2 * PreviousStack::kCheckStep);
    return (traits / 2 & PreviousStack::kCheckStep) | (frame.rbp_at != 0 ? PreviousStack::kCheckRbp : 0);
  }
  End walk(Frame frame);
  bool usable(bool forgot) const;
  void set_end(End end);
  const StackTops::Top* known(const Frame& frame);
  Captured name();
  Captured result(uint32_t node, unsigned depth) const;

  WalkerShared* shared_;
  WalkerThread& thread_;
  unsigned limit_;
  unsigned deepest_;
  bool system_calls_;
  int joined_ = kNothing;  // the entry of the previous stack that the walk has come to
  unsigned steps_ = 0;
};

/// Fills the steps until the walk ends or comes to a state of the previous stack that still holds to its end:
/// that is then in the last step, which is not counted.
inline End Walk::walk(Frame frame) {
  int joinable = thread_.previous.count() - 1;
  uint32_t traits = 0;  // of the rule that has led to the frame
  for (;;) {
    StackStep& step = thread_.steps[steps_];
    step.slot = frame.slot;
    step.key = frame.key;
    step.rbp = frame.rbp;
    step.rbp_at = frame.rbp_at;
    step.link = static_cast<uint16_t>(link_of(traits, frame));
    const int at = thread_.previous.same(frame);
    if (at != kNothing && at <= joinable) {
      const int different = thread_.previous.differs(at, thread_.memory, system_calls_);
      if (different == kNothing) {
        joined_ = at;
        return End::joined;
      }
      joinable = different - 1;  // from all the others the walk comes by there
    }
    const ReadyRule* found = thread_.rules.find(shared_, frame.key);
    if (found == nullptr) return End::modules_changed;
    const ReadyRule rule = *found;
    traits = rule.traits;
    step.rule = rule.rule;
    step.traits = static_cast<uint16_t>(traits);
    ++steps_;
    if ((traits & ReadyRule::kFast) == 0 || !step_fast(thread_.memory, rule, frame)) {
      Frame copy = frame;
      const Way way = step_outward(thread_.memory, system_calls_, rule.rule, copy);
      if (way != Way::caller) return way == Way::outermost ? End::outermost : End::cut;
      frame = copy;
    }
    if (steps_ == deepest_) return End::too_deep;
  }
}

/// Whether the rest of the previous stack can be kept: not when it lies in memory that is no longer known,
/// when there is no room for it, or when frames are missing that were beyond the limit.
inline bool Walk::usable(bool forgot) const {
  const unsigned depth = static_cast<unsigned>(joined_ + 1) + steps_;
  return !forgot && depth <= kWalkerFrames && thread_.previous.is_long_enough(depth, limit_);
}

/// The outermost step is the new bottom of the previous stack.
inline void Walk::set_end(End end) {
  const RuleKind kind = thread_.steps[steps_ - 1].rule.kind();
  const bool by_rule = kind == RuleKind::outermost || kind == RuleKind::none;
  const bool too_deep = end == End::too_deep;
  thread_.previous.set_end(end == End::outermost ? kWholeRoot : kCutRoot, too_deep, !too_deep && !by_rule);
}

/// The stack as it was captured before, if it still holds to its end.
inline const StackTops::Top* Walk::known(const Frame& frame) {
  PreviousStack& previous = thread_.previous;
  const StackTops::Top* top = thread_.tops.find(frame.slot, frame.rbp, previous);
  if (top == nullptr || !previous.is_long_enough(top->frames, limit_)) return nullptr;
  if (previous.differs(top->entry, thread_.memory, system_calls_) != kNothing) return nullptr;
  if (!thread_.memory.take_forgot()) return top;
  previous.clear();
  return nullptr;
}

/// Puts the steps on top of the entry that they have come to, or of nothing.
inline Captured Walk::name() {
  PreviousStack& previous = thread_.previous;
  uint32_t node = previous.root();
  uint64_t hash = StackTrie::root_hash(node);
  uint32_t needs_rbp = 0;
  if (joined_ >= 0) {
    node = previous.node(joined_);
    hash = previous.hash(joined_);
    needs_rbp = previous.needs_rbp(joined_) ? 1 : 0;
    previous.relink(joined_, thread_.steps[steps_]);
  }
  int at = joined_;
  StackTrie trie(shared_);
  for (unsigned i = steps_; i-- > 0;) {
    const StackStep& step = thread_.steps[i];
    hash = StackTrie::child_hash(hash, step.key);
    node = trie.node(node, step.key, hash);
    if (node == StackTrie::kFull) {
      previous.cut(at + 1);
      __atomic_fetch_add(&shared_->lost, 1, __ATOMIC_RELAXED);
      return nothing();
    }
    static_assert(ReadyRule::kNeedsRbp == 1 && ReadyRule::kKeepsRbp == 2);
    needs_rbp = (step.traits | (step.traits >> 1 & needs_rbp)) & 1;
    previous.put(++at, step, needs_rbp, hash, node);
  }
  previous.cut(at + 1);
  if (joined_ >= 0) thread_.tops.put(thread_.steps[0], previous, joined_);
  return result(node, static_cast<unsigned>(at + 1));
}

inline Captured Walk::result(uint32_t node, unsigned depth) const {
  return cut_to(limit_, node, depth, thread_.previous.root());
}

inline Captured Walk::capture(uint64_t entry_sp, uint64_t rbp) {
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    if (!thread_.rules.start(shared_)) thread_.previous.clear();
    if (!thread_.memory.enter(entry_sp, system_calls_)) thread_.previous.clear();
    const Frame frame{
        .slot = entry_sp, .key = word_at(entry_sp), .rbp = rbp, .rbp_at = 0, .context = 0, .rbx_at = 0};
    if (frame.key == 0 || frame.key >= kExact) return nothing();
    if (const StackTops::Top* top = known(frame)) return result(top->node, top->frames);
    joined_ = kNothing;
    steps_ = 0;
    const End end = walk(frame);
    if (end == End::modules_changed) continue;
    const bool forgot = thread_.memory.take_forgot();
    if (joined_ >= 0 && !usable(forgot)) {
      thread_.previous.clear();
      continue;
    }
    if (joined_ >= 0 && steps_ == 0)
      return result(thread_.previous.node(joined_), static_cast<unsigned>(joined_ + 1));
    if (joined_ < 0) set_end(end);
    const Captured captured = name();
    if (forgot) thread_.previous.clear();  // it lies in more pieces of memory than are known next time
    return captured;
  }
  thread_.previous.clear();
  return nothing();
}

}  // namespace

Captured walk_stack(WalkerShared* shared, WalkerThread* thread, uint64_t entry_sp, uint64_t rbp,
                    unsigned limit) {
  if (limit == 0) return {kCutRoot, 0, true};
  if (limit > kHighestLimit) limit = kHighestLimit;
  return Walk(shared, *thread, limit).capture(entry_sp, rbp);
}

}  // namespace refhist::agent
