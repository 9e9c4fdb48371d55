#include "agent/stack_walker.h"

#include "agent/stack_trie.h"

namespace refhist::agent {

namespace {

constexpr unsigned kAttempts =
    5;  // when the modules change under a capture, or the previous stack is of no use
constexpr int kNothing = -1;

/// Offsets in the ucontext that the kernel puts at rsp of the return of a signal handler, by DWARF number.
constexpr uint16_t kContextAt[17] = {144, 136, 152, 128, 112, 104, 120, 160, 40,
                                     48,  56,  64,  72,  80,  88,  96,  168};
constexpr unsigned kRbpNumber = 6;
constexpr unsigned kRspNumber = 7;
constexpr unsigned kRipNumber = 16;

enum class Way : uint32_t { caller, outermost, cut, too_deep, modules_changed };

struct Frame {
  uint64_t slot;  ///< rsp - 8; that is where the return address was, unless a signal interrupted the frame
  uint64_t key;
  uint64_t rbp;
  uint64_t rbp_at;   ///< where rbp was read; 0: it is that of the frame inside
  uint64_t context;  ///< the ucontext of a frame that a signal interrupted; else 0
};

uint64_t word(uint64_t address) { return *reinterpret_cast<const volatile uint64_t*>(address); }

/// Makes the compiler forget that two values are the same. Where the next address has been guessed right, the
/// processor goes on with the guess and checks it on the side, instead of waiting for it.
uint64_t guessed(uint64_t value) {
  asm("" : "+r"(value));
  return value;
}

class Walk {
 public:
  Walk(WalkerShared* shared, WalkerThread* thread, unsigned limit)
      : shared_(shared),
        thread_(*thread),
        limit_(limit),
        deepest_(limit + limit / 2),
        system_calls_(shared->no_system_calls == 0) {}

  Captured capture(uint64_t entry_sp, uint64_t rbp);

 private:
  bool read(uint64_t address, uint64_t& value);
  bool read_context(const Frame& frame, unsigned number, uint64_t& value);
  bool cfa_of(FrameRule rule, const Frame& frame, uint64_t& cfa);
  Way signal_caller(Frame& frame);
  Way special_caller(FrameRule rule, Frame& frame);
  Way finish(FrameRule rule, uint64_t cfa, Frame& frame);
  Way caller(FrameRule rule, Frame& frame);
  int place(uint64_t slot, int from) const;
  bool joins(int at, const Frame& frame) const;
  int differs(int at);
  Frame entry(int at) const;
  bool checks(int at);
  bool ends();
  Way walk(Frame frame);
  static uint8_t flags_of(bool needs_rbp, uint64_t rbp_at, uint32_t plain);
  void relink(bool needs_rbp);
  void set_end(Way way);
  Captured name();
  bool keep(StackTrie& trie, const WalkerThread::Step& step, uint32_t& parent, uint64_t& hash,
            bool& needs_rbp);
  bool usable(bool forgot) const;
  Captured result() const;
  Captured nothing() const { return {kCutRoot, 0, true}; }

  WalkerShared* shared_;
  WalkerThread& thread_;
  unsigned limit_;
  unsigned deepest_;
  bool system_calls_;
  int joined_ = kNothing;  // the entry of the previous stack that the walk has come to
  uint64_t joined_rbp_ = 0;
  uint64_t joined_rbp_at_ = 0;
  uint32_t joined_plain_ = 0;
  unsigned steps_ = 0;
};

inline bool Walk::read(uint64_t address, uint64_t& value) {
  if ((address & 7) != 0 || !thread_.memory.readable(address, system_calls_)) return false;
  value = word(address);
  return true;
}

bool Walk::read_context(const Frame& frame, unsigned number, uint64_t& value) {
  return read(frame.context + kContextAt[number], value);
}

/// Everything is in the ucontext, also rsp: it may be on another stack.
__attribute__((noinline)) Way Walk::signal_caller(Frame& frame) {
  Frame out{.slot = 0, .key = 0, .rbp = 0, .rbp_at = 0, .context = frame.slot + 8};
  uint64_t rsp = 0;
  if (!read_context(out, kRspNumber, rsp) || !read_context(out, kRipNumber, out.key)) return Way::cut;
  if (!read_context(out, kRbpNumber, out.rbp)) return Way::cut;
  out.rbp_at = out.context + kContextAt[kRbpNumber];
  out.slot = rsp - 8;
  if (out.key == 0) return Way::outermost;
  if ((rsp & 7) != 0 || out.key >= kExact) return Way::cut;
  out.key |= kExact;
  frame = out;
  return Way::caller;
}

bool Walk::cfa_of(FrameRule rule, const Frame& frame, uint64_t& cfa) {
  const uint64_t rsp = frame.slot + 8;
  switch (rule.kind()) {
    case RuleKind::rsp:
      cfa = rsp + static_cast<uint64_t>(rule.offset());
      return true;
    case RuleKind::rbp:
      cfa = frame.rbp + static_cast<uint64_t>(rule.offset());
      return true;
    case RuleKind::plt:
      cfa = rsp + ((frame.key & 15) >= rule.plt_threshold() ? 16 : 8);
      return true;
    case RuleKind::deref_rsp:
    case RuleKind::deref_rbp: {
      const uint64_t base = rule.kind() == RuleKind::deref_rsp ? rsp : frame.rbp;
      if (!read(base + static_cast<uint64_t>(rule.deref_at()), cfa)) return false;
      cfa += static_cast<uint64_t>(rule.deref_offset());
      return true;
    }
    case RuleKind::other:
      if (frame.context == 0 || !read_context(frame, rule.other_register(), cfa)) return false;
      cfa += static_cast<uint64_t>(rule.other_offset());
      return true;
    default:
      return false;
  }
}

__attribute__((noinline)) Way Walk::special_caller(FrameRule rule, Frame& frame) {
  if (rule.kind() == RuleKind::outermost) return Way::outermost;
  if (rule.kind() == RuleKind::signal) return signal_caller(frame);
  uint64_t cfa = 0;
  return cfa_of(rule, frame, cfa) ? finish(rule, cfa, frame) : Way::cut;
}

inline Way Walk::finish(FrameRule rule, uint64_t cfa, Frame& frame) {
  const uint64_t slot = cfa - 8;
  if (slot <= frame.slot || cfa < 8) return Way::cut;  // a caller is always further out
  uint64_t key = 0;
  if (!read(slot, key)) return Way::cut;
  const uint32_t save = rule.rbp_save();
  if (save != FrameRule::kRbpKept) {
    frame.rbp_at = save == FrameRule::kRbpAtRbp ? frame.rbp : cfa - uint64_t{8} * save;
    if (!read(frame.rbp_at, frame.rbp)) return Way::cut;
  } else {
    frame.rbp_at = 0;
  }
  if (key == 0) return Way::outermost;
  if (key >= kExact) return Way::cut;  // no address of this world
  frame.slot = slot;
  frame.key = key;
  frame.context = 0;
  return Way::caller;
}

inline Way Walk::caller(FrameRule rule, Frame& frame) {
  if (rule.kind() == RuleKind::rsp) {
    return finish(rule, frame.slot + 8 + static_cast<uint64_t>(rule.offset()), frame);
  }
  if (rule.kind() == RuleKind::rbp)
    return finish(rule, frame.rbp + static_cast<uint64_t>(rule.offset()), frame);
  return special_caller(rule, frame);
}

/// The entry of the previous stack that lies where the frame lies, or the next one further out.
inline int Walk::place(uint64_t slot, int from) const {
  while (from >= 0 && thread_.slots[from] < slot) --from;
  return from;
}

inline bool Walk::joins(int at, const Frame& frame) const {
  // The registers in the ucontext belong to the state of a frame that a signal interrupted: walked anew.
  if (thread_.keys[at] != frame.key || frame.context != 0) return false;
  return (thread_.flags[at] & WalkerThread::kNeedsRbp) == 0 || thread_.rbps[at] == frame.rbp;
}

/// A frame inside of which there is another one, unless it is no frame that a signal interrupted.
inline Frame Walk::entry(int at) const {
  // Further in is then the return of the handler, with the ucontext at its rsp.
  const bool exact = (thread_.keys[at] & kExact) != 0;
  return {.slot = thread_.slots[at],
          .key = thread_.keys[at],
          .rbp = thread_.rbps[at],
          .rbp_at = 0,
          .context = exact ? thread_.slots[at + 1] + 8 : 0};
}

/// Whether the previous stack would still end with its outermost entry, where that hung on what memory held.
__attribute__((noinline)) bool Walk::ends() {
  Frame frame = entry(0);
  const Way way = caller(thread_.frame_rules[0], frame);
  return way == (thread_.root == kWholeRoot ? Way::outermost : Way::cut);
}

/// Whether what the frame inside this one leads to is still this one. For frames that more than the word at
/// the slot decides.
__attribute__((noinline)) bool Walk::checks(int at) {
  const uint32_t flags = thread_.flags[at];
  if ((flags & WalkerThread::kCheckStep) != 0) {
    Frame frame = entry(at + 1);
    if (caller(thread_.frame_rules[at + 1], frame) != Way::caller) return false;
    if (frame.slot != thread_.slots[at] || frame.key != thread_.keys[at]) return false;
  } else if (word(thread_.slots[at]) != thread_.keys[at]) {
    return false;
  }
  return (flags & WalkerThread::kCheckRbp) == 0 || word(thread_.rbp_ats[at]) == thread_.rbps[at];
}

/// The first entry further out than this one that is no longer what is on the stack, or 0 when only the end
/// is. In order, each look only after the one before has shown that there is a frame.
inline int Walk::differs(int at) {
  const uint64_t* slots = thread_.slots;
  const uint64_t* keys = thread_.keys;
  const uint8_t* flags = thread_.flags;
  for (int i = at - 1; i >= 0; --i) {
    if ((flags[i] & ~WalkerThread::kNeedsRbp) == 0) {
      if (word(slots[i]) != keys[i]) return i;
    } else if (!checks(i)) {
      return i;
    }
  }
  return thread_.end_by_memory != 0 && !ends() ? 0 : kNothing;
}

/// Fills the steps until the walk ends or comes to a state of the previous stack that still holds to its end.
inline Way Walk::walk(Frame frame) {
  int at = static_cast<int>(thread_.last);
  const int count = static_cast<int>(thread_.count);
  if (count == 0) at = kNothing;
  while (at >= 0 && at + 1 < count && thread_.slots[at] > frame.slot) ++at;
  int joinable = count - 1;
  uint32_t plain = 1;
  for (;;) {
    at = place(frame.slot, at);
    if (at >= 0 && thread_.slots[at] == frame.slot) {
      frame.slot = guessed(thread_.slots[at]);
      if (at <= joinable && joins(at, frame)) {
        const int different = differs(at);
        if (different == kNothing) {
          joined_ = at;
          joined_rbp_ = frame.rbp;
          joined_rbp_at_ = frame.rbp_at;
          joined_plain_ = plain;
          return Way::caller;
        }
        joinable = different - 1;
      }
    }
    WalkerThread::Step& step = thread_.steps[steps_++];
    step = {frame.slot, frame.key, frame.rbp, frame.rbp_at, {}, plain};
    if (!thread_.rules.find(shared_, frame.key, step.rule)) return Way::modules_changed;
    plain = step.rule.kind() == RuleKind::rsp || step.rule.kind() == RuleKind::rbp ||
            step.rule.kind() == RuleKind::plt;
    const Way way = caller(step.rule, frame);
    if (way != Way::caller) return way;
    if (steps_ == deepest_) return Way::too_deep;
  }
}

/// Enters a step on top of the previous stack.
inline bool Walk::keep(StackTrie& trie, const WalkerThread::Step& step, uint32_t& parent, uint64_t& hash,
                       bool& needs_rbp) {
  const uint32_t at = thread_.count;
  hash = StackTrie::child_hash(hash, step.key);
  const uint32_t node = trie.node(parent, step.key, hash);
  if (node == StackTrie::kFull) return false;
  const RuleKind kind = step.rule.kind();
  const uint32_t save = step.rule.rbp_save();
  if (kind == RuleKind::rbp || kind == RuleKind::deref_rbp || save == FrameRule::kRbpAtRbp) {
    needs_rbp = true;
  } else if (save != FrameRule::kRbpKept || kind == RuleKind::signal) {
    needs_rbp = false;
  }
  thread_.slots[at] = step.slot;
  thread_.keys[at] = step.key;
  thread_.hashes[at] = hash;
  thread_.rbps[at] = step.rbp;
  thread_.rbp_ats[at] = step.rbp_at;
  thread_.nodes[at] = parent = node;
  thread_.frame_rules[at] = step.rule;
  thread_.flags[at] = flags_of(needs_rbp, step.rbp_at, step.plain);
  ++thread_.count;
  return true;
}

/// The outermost step is the new bottom of the previous stack.
inline void Walk::set_end(Way way) {
  const RuleKind kind = thread_.steps[steps_ - 1].rule.kind();
  const bool by_limit = way == Way::too_deep;
  const bool by_rule = kind == RuleKind::outermost || kind == RuleKind::none;
  thread_.root = way == Way::outermost ? kWholeRoot : kCutRoot;
  thread_.limit_cut = by_limit ? 1 : 0;
  thread_.end_by_memory = by_limit || by_rule ? 0 : 1;
}

inline uint8_t Walk::flags_of(bool needs_rbp, uint64_t rbp_at, uint32_t plain) {
  uint32_t flags = needs_rbp ? WalkerThread::kNeedsRbp : 0;
  if (needs_rbp && rbp_at != 0) flags |= WalkerThread::kCheckRbp;
  if (plain == 0) flags |= WalkerThread::kCheckStep;
  return static_cast<uint8_t>(flags);
}

/// The entry that the steps have come to: another frame inside leads to it now, perhaps in another way.
inline void Walk::relink(bool needs_rbp) {
  thread_.rbps[joined_] = joined_rbp_;
  thread_.rbp_ats[joined_] = joined_rbp_at_;
  thread_.flags[joined_] = flags_of(needs_rbp, joined_rbp_at_, joined_plain_);
}

/// Puts the steps on top of the entry that they have come to, or of nothing.
inline Captured Walk::name() {
  uint32_t parent = thread_.root;
  uint64_t hash = StackTrie::root_hash(parent);
  bool needs_rbp = false;
  if (joined_ >= 0) {
    parent = thread_.nodes[joined_];
    hash = thread_.hashes[joined_];
    needs_rbp = (thread_.flags[joined_] & WalkerThread::kNeedsRbp) != 0;
    relink(needs_rbp);
  }
  thread_.count = static_cast<uint32_t>(joined_ + 1);
  StackTrie trie(shared_);
  for (unsigned i = steps_; i-- > 0;) {
    if (!keep(trie, thread_.steps[i], parent, hash, needs_rbp)) {
      __atomic_fetch_add(&shared_->lost, 1, __ATOMIC_RELAXED);
      thread_.last = thread_.count == 0 ? 0 : thread_.count - 1;
      return nothing();
    }
  }
  thread_.last = thread_.count - 1;
  return result();
}

inline Captured Walk::result() const {
  const uint32_t depth = thread_.last + 1;
  const bool deeper = depth > limit_;
  return {thread_.nodes[thread_.last], static_cast<uint16_t>(deeper ? limit_ : depth),
          deeper || thread_.root == kCutRoot};
}

/// Whether the rest of the previous stack can be kept: not when it lies in memory that is no longer known,
/// when there is no room for it, or when frames are missing that were beyond the limit.
inline bool Walk::usable(bool forgot) const {
  const unsigned depth = static_cast<unsigned>(joined_ + 1) + steps_;
  return !forgot && depth <= kWalkerFrames && (thread_.limit_cut == 0 || depth > limit_);
}

inline Captured Walk::capture(uint64_t entry_sp, uint64_t rbp) {
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    if (!thread_.rules.start(shared_)) thread_.count = 0;
    if (!thread_.memory.enter(entry_sp, system_calls_)) thread_.count = 0;
    Frame frame{.slot = entry_sp, .key = word(entry_sp), .rbp = rbp, .rbp_at = 0, .context = 0};
    if (frame.key == 0 || frame.key >= kExact) return nothing();
    joined_ = kNothing;
    steps_ = 0;
    const Way way = walk(frame);
    if (way == Way::modules_changed) continue;
    const bool forgot = thread_.memory.take_forgot();
    if (joined_ >= 0 && !usable(forgot)) {
      thread_.count = 0;
      continue;
    }
    if (joined_ >= 0 && steps_ == 0) {
      thread_.last = static_cast<uint32_t>(joined_);
      return result();
    }
    if (joined_ < 0) set_end(way);
    const Captured captured = name();
    if (forgot) thread_.count = 0;  // it lies in more pieces of memory than are known next time
    return captured;
  }
  thread_.count = 0;
  return nothing();
}

}  // namespace

Captured capture(WalkerShared* shared, WalkerThread* thread, uint64_t entry_sp, uint64_t rbp,
                 unsigned limit) {
  if (limit == 0) return {kCutRoot, 0, true};
  if (limit > kHighestLimit) limit = kHighestLimit;
  return Walk(shared, thread, limit).capture(entry_sp, rbp);
}

}  // namespace refhist::agent
