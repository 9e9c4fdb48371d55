#include "agent/frame_step.h"

namespace refhist::agent {

namespace {

/// Offsets in the ucontext that the kernel puts at rsp of the return of a signal handler, by DWARF number.
constexpr uint16_t kContextAt[17] = {144, 136, 152, 128, 112, 104, 120, 160, 40,
                                     48,  56,  64,  72,  80,  88,  96,  168};
constexpr unsigned kRbxNumber = 3;
constexpr unsigned kRbpNumber = 6;
constexpr unsigned kRspNumber = 7;
constexpr unsigned kRipNumber = 16;

class Step {
 public:
  Step(ReadableMemory& memory, bool system_calls) : memory_(memory), system_calls_(system_calls) {}

  Way outward(FrameRule rule, Frame& frame) {
    if (rule.kind() == RuleKind::outermost) return Way::outermost;
    if (rule.kind() == RuleKind::signal) return signal_caller(frame);
    uint64_t cfa = 0;
    return cfa_of(rule, frame, cfa) ? finish(rule, cfa, frame) : Way::cut;
  }

 private:
  bool read(uint64_t address, uint64_t& value) {
    if ((address & 7) != 0 || !memory_.readable(address, system_calls_)) return false;
    value = word_at(address);
    return true;
  }
  bool read_context(const Frame& frame, unsigned number, uint64_t& value) {
    return read(frame.context + kContextAt[number], value);
  }
  bool read_register(unsigned number, const Frame& frame, uint64_t& value) {
    if (frame.context != 0) return read_context(frame, number, value);
    return number == kRbxNumber && frame.rbx_at != 0 && read(frame.rbx_at, value);
  }
  Way signal_caller(Frame& frame);
  bool cfa_of(FrameRule rule, const Frame& frame, uint64_t& cfa);
  Way finish(FrameRule rule, uint64_t cfa, Frame& frame);

  ReadableMemory& memory_;
  bool system_calls_;
};

/// Everything is in the ucontext, also rsp: it may be on another stack.
Way Step::signal_caller(Frame& frame) {
  Frame out{.slot = 0, .key = 0, .rbp = 0, .rbp_at = 0, .context = frame.slot + 8, .rbx_at = 0};
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

bool Step::cfa_of(FrameRule rule, const Frame& frame, uint64_t& cfa) {
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
    case RuleKind::rsp_rbx:
      cfa = rsp + static_cast<uint64_t>(rule.rsp_rbx_offset());
      return true;
    case RuleKind::other:
      if (!read_register(rule.other_register(), frame, cfa)) return false;
      cfa += static_cast<uint64_t>(rule.other_offset());
      return true;
    default:
      return false;
  }
}

Way Step::finish(FrameRule rule, uint64_t cfa, Frame& frame) {
  const uint64_t slot = cfa - 8;
  if (slot <= frame.slot || cfa < 8) return Way::cut;  // a caller is always further out
  uint64_t key = 0;
  uint64_t rbp = frame.rbp;
  uint64_t rbp_at = 0;
  if (!read(slot, key)) return Way::cut;
  if (rule.rbp_save() != FrameRule::kRbpKept) {
    rbp_at = rule.rbp_save() == FrameRule::kRbpAtRbp ? frame.rbp : cfa - uint64_t{8} * rule.rbp_save();
    if (!read(rbp_at, rbp)) return Way::cut;
  }
  if (key == 0) return Way::outermost;
  if (key >= kExact) return Way::cut;  // no address of this world
  uint64_t rbx_at = 0;
  if (rule.kind() == RuleKind::rsp_rbx) {
    const uint64_t kept = frame.context != 0 ? frame.context + kContextRbx : frame.rbx_at;
    rbx_at = rule.rbx_save() == 0 ? kept : cfa - uint64_t{8} * rule.rbx_save();
  }
  frame = {.slot = slot, .key = key, .rbp = rbp, .rbp_at = rbp_at, .context = 0, .rbx_at = rbx_at};
  return Way::caller;
}

}  // namespace

Way step_outward(ReadableMemory& memory, bool system_calls, FrameRule rule, Frame& frame) {
  return Step(memory, system_calls).outward(rule, frame);
}

}  // namespace refhist::agent
