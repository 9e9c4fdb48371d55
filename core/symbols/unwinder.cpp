// One step = the rule of the pc, the CFA by it, the saved registers and the return address from words near
// the CFA. Rules are looked up once per pc; after that a frame costs a hash look-up and a few loads from the
// window.
#include "symbols/unwinder.h"

#include <algorithm>

#include "symbols/dwarf_expression.h"

namespace refhist {

namespace {

/// What a step can restore without evaluating anything: the callee-saved registers and the return address.
constexpr std::array<unsigned, 7> kSaved = {kRbx, kRbp, kR12, kR13, kR14, kR15, kRip};

bool is_register_offset_saved(const RegisterRule& rule) {
  return rule.kind == RegisterRule::Kind::same || rule.kind == RegisterRule::Kind::undefined ||
         rule.kind == RegisterRule::Kind::at_cfa_offset;
}

bool is_cfa_itself(const RegisterRule& rule) {
  return rule.kind == RegisterRule::Kind::cfa_plus && rule.offset == 0;
}

bool is_simple(const UnwindRule& rule) {
  if (rule.cfa_by_expression || rule.cfa_offset != static_cast<std::int32_t>(rule.cfa_offset)) return false;
  if (rule.registers[kRip].kind != RegisterRule::Kind::at_cfa_offset) return false;
  for (unsigned i = 0; i < kRegisterCount; ++i) {
    if (i == kRsp ? !is_cfa_itself(rule.registers[i]) : !is_register_offset_saved(rule.registers[i]))
      return false;
    const bool kept = std::find(kSaved.begin(), kSaved.end(), i) != kSaved.end();
    if (!kept && rule.registers[i].kind == RegisterRule::Kind::at_cfa_offset) return false;
  }
  return true;
}

/// The same signal frame twice: garbage that would be walked in circles.
bool seen_before(const std::vector<RawFrame>& frames, std::size_t first) {
  const RawFrame& last = frames.back();
  return std::any_of(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end() - 1,
                     [&](const RawFrame& f) { return f.pc == last.pc && f.cfa == last.cfa; });
}

/// The value of register `number` in the caller.
std::optional<Address> caller_value(const RegisterRule& rule, unsigned number, const WordReader& words,
                                    const Registers& registers, Address cfa) {
  const Address near_cfa = cfa + static_cast<Address>(std::int64_t{rule.offset});
  switch (rule.kind) {
    case RegisterRule::Kind::same:
    case RegisterRule::Kind::undefined:
      return registers[number];
    case RegisterRule::Kind::at_cfa_offset:
      return words(near_cfa, sizeof(Address));
    case RegisterRule::Kind::cfa_plus:
      return near_cfa;
    case RegisterRule::Kind::in_register:
      return registers[rule.source];
    case RegisterRule::Kind::is_expression:
      return evaluate_expression(rule.expression, registers, cfa, words);
    case RegisterRule::Kind::at_expression: {
      const auto address = evaluate_expression(rule.expression, registers, cfa, words);
      return address ? words(*address, sizeof(Address)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

void Unwinder::modules_changed() { cache_.clear(); }

bool Unwinder::unwind(const Registers& registers, const MemoryReader& read, const UnwindOptions& options,
                      std::vector<RawFrame>& out, std::vector<Registers>* frame_registers) {
  window_.reset();
  Registers current = registers;
  bool exact = true;
  const std::size_t first = out.size();
  while (out.size() - first < options.limit) {
    out.push_back({.pc = current.pc(), .exact = exact});
    if (frame_registers != nullptr) frame_registers->push_back(current);
    const Step& rule = step_at(exact ? current.pc() : current.pc() - 1);
    const Address sp = current.sp();
    const Outcome outcome = step(rule, read, current, out.back());
    if (outcome != Outcome::caller) return outcome == Outcome::outermost;
    if (current.sp() <= sp) {  // only a signal frame may lead to another stack
      if (!rule.signal_frame || seen_before(out, first)) return false;
    }
    if (current.sp() <= sp) window_.reset();
    exact = rule.signal_frame;
    if (current.pc() == 0) return true;
  }
  return false;
}

const Unwinder::Step& Unwinder::step_at(Address address) {
  const auto [found, is_new] = cache_.try_emplace(address);
  Step& step = found->second;
  if (!is_new) return step;
  const LoadedModule* loaded = modules_.at(address);
  if (loaded == nullptr) return step;
  const Address file_address = address - loaded->bias;
  const UnwindRule* rule = loaded->module->unwind_rule(file_address);
  if (rule == nullptr) {
    const Address entry = loaded->module->entry_point();
    const bool ends =
        std::any_of(ends_.begin(), ends_.end(), [&](const FileRange& end) { return end.contains(address); });
    if (ends || (entry != 0 && file_address - entry < kStartSize)) step.kind = Step::Kind::outermost;
    return step;
  }
  step.rule = rule;
  step.signal_frame = rule->signal_frame;
  if (rule->registers[kRip].kind == RegisterRule::Kind::undefined) {
    step.kind = Step::Kind::outermost;
    return step;
  }
  step.kind = is_simple(*rule) ? Step::Kind::simple : Step::Kind::general;
  step.cfa_register = rule->cfa_register;
  step.cfa_offset = static_cast<std::int32_t>(rule->cfa_offset);
  for (std::size_t i = 0; i < kSaved.size(); ++i) {
    const RegisterRule& saved = rule->registers[kSaved[i]];
    step.saved[i] = saved.kind == RegisterRule::Kind::at_cfa_offset ? saved.offset : Step::kNotSaved;
    if (step.saved[i] != Step::kNotSaved) step.lowest = std::min(step.lowest, step.saved[i]);
  }
  return step;
}

Unwinder::Outcome Unwinder::step(const Step& step, const MemoryReader& read, Registers& registers,
                                 RawFrame& frame) {
  switch (step.kind) {
    case Step::Kind::none:
      return Outcome::stuck;
    case Step::Kind::outermost:
      return Outcome::outermost;
    case Step::Kind::simple:
      return step_simple(step, read, registers, frame.cfa) ? Outcome::caller : Outcome::stuck;
    case Step::Kind::general:
      return step_general(*step.rule, read, registers, frame.cfa) ? Outcome::caller : Outcome::stuck;
  }
  return Outcome::stuck;
}

bool Unwinder::step_simple(const Step& step, const MemoryReader& read, Registers& registers, Address& cfa) {
  const Address found = registers[step.cfa_register] + static_cast<Address>(std::int64_t{step.cfa_offset});
  if (found <= registers.sp()) return false;
  // Lowest word first: then the window never has to go back.
  if (!window_.word(found + static_cast<Address>(std::int64_t{step.lowest}), read)) return false;
  for (std::size_t i = 0; i < kSaved.size(); ++i) {
    if (step.saved[i] == Step::kNotSaved) continue;
    const auto value = window_.word(found + static_cast<Address>(std::int64_t{step.saved[i]}), read);
    if (!value) return false;
    registers[kSaved[i]] = *value;
  }
  registers[kRsp] = cfa = found;
  return true;
}

bool Unwinder::step_general(const UnwindRule& rule, const MemoryReader& read, Registers& registers,
                            Address& cfa) {
  const WordReader words = [&](Address address, std::size_t size) -> std::optional<std::uint64_t> {
    if (size == sizeof(std::uint64_t)) return window_.word(address, read);
    std::uint64_t value = 0;
    if (read(address, &value, size) != size) return std::nullopt;
    return value;
  };
  std::optional<Address> found = registers[rule.cfa_register] + static_cast<Address>(rule.cfa_offset);
  if (rule.cfa_by_expression)
    found = evaluate_expression(rule.cfa_expression, registers, std::nullopt, words);
  if (!found) return false;
  Registers caller = registers;
  for (unsigned i = 0; i < kRegisterCount; ++i) {
    const auto value = caller_value(rule.registers[i], i, words, registers, *found);
    if (!value) return false;
    caller[i] = *value;
  }
  if (rule.registers[kRsp].kind == RegisterRule::Kind::same) caller[kRsp] = *found;
  registers = caller;
  cfa = *found;
  return true;
}

}  // namespace refhist
