#include "analysis/function_ways.h"

#include <algorithm>
#include <tuple>

#include "x86/straight_way.h"

namespace refhist {

namespace {

constexpr std::size_t kMostInstructions = 8000;
constexpr std::size_t kMostBranches = 64;  // that part ways: each is followed by itself

/// The places themselves, and all from which one of them is reached. `before`: what leads right to each.
std::set<Address> leading_to(std::vector<Address> places,
                             const std::map<Address, std::vector<Address>>& before) {
  std::set<Address> found(places.begin(), places.end());
  while (!places.empty()) {
    const auto earlier = before.find(places.back());
    places.pop_back();
    if (earlier == before.end()) continue;
    for (const Address at : earlier->second) {
      if (found.insert(at).second) places.push_back(at);
    }
  }
  return found;
}

bool ends_here(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_UD2 || mnemonic == ZYDIS_MNEMONIC_HLT || mnemonic == ZYDIS_MNEMONIC_INT3;
}

}  // namespace

bool FunctionWays::inside(Address at) const {
  return std::any_of(code_.ranges.begin(), code_.ranges.end(),
                     [&](const FileRange& range) { return range.contains(at); });
}

// Instructions of the function around stand among those of an inlined copy.
bool FunctionWays::is_between(Address at) const {
  constexpr int kMost = 8;
  DecodedInstruction instruction;
  for (int i = 0; i < kMost && read_instruction(*code_.module, at, instruction); ++i) {
    if (instruction.is_call() || instruction.is_jump() || instruction.is_branch() || instruction.is_return())
      return false;
    at = instruction.next();
    if (inside(at)) return true;
  }
  return false;
}

// `test r, r`, `cmp r, …`.
Value FunctionWays::compared(const DecodedInstruction& instruction, MachineState& state) const {
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  if (mnemonic != ZYDIS_MNEMONIC_TEST && mnemonic != ZYDIS_MNEMONIC_CMP) return {};
  return state.read(instruction.operands[0], instruction.next());
}

void FunctionWays::note_none(const Waiting& waiting, const DecodedInstruction& instruction,
                             Step& step) const {
  if (!waiting.against_none || !is_reference(waiting.tested)) return;
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_JZ) step.none = instruction.branch_target();
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_JNZ) step.none = step.end;
}

void FunctionWays::note_uses(const DecodedInstruction& instruction, MachineState& state, Step& step) const {
  if (instruction.is_call() || step.leaves) {
    for (unsigned i = 0; i < kEncodedArguments.size(); ++i) {
      const Value passed = state.reg(kEncodedArguments[i]);
      step.passed.emplace_back(i + 1, passed);
      if (values_.is_stack(passed)) step.passed.emplace_back(0, state.load(passed));
    }
  }
  const ZydisDecodedOperand& to = instruction.operands[0];
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV || to.type != ZYDIS_OPERAND_TYPE_MEMORY) return;
  const Value address = state.address_of(to, instruction.next());
  if (values_.is_stack(address)) return;
  step.stored = state.read(instruction.operands[1], instruction.next());
  step.stored_at = address;
  if (names_slot_) step.stored_bases = bases_of(values_, state, address);
}

// `mov r, r` and `mov r, n(%rbp)`.
void FunctionWays::note_replaced(const DecodedInstruction& instruction, MachineState& state,
                                 Step& step) const {
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV) return;
  const ZydisDecodedOperand& to = instruction.operands[0];
  const bool memory = to.type == ZYDIS_OPERAND_TYPE_MEMORY;
  if (memory) {
    const Value place = state.address_of(to, instruction.next());
    if (!values_.is_stack(place)) return;
    if (place.exact) step.home.stack = {place.offset};
  } else if (const auto reg = is_register(to) ? preserved_number(to.reg.value) : std::nullopt) {
    step.home.registers = {*reg};
  }
  step.replaced = state.read(to, instruction.next());
  step.replaced_by = state.read(instruction.operands[1], instruction.next());
}

// Where a loop takes its next reference by several ways, its old one is told by that alone.
bool FunctionWays::lets_go(const Waiting& before, const DecodedInstruction& instruction,
                           const MachineState& behind) const {
  const bool may_keep =
      instruction.raw.meta.category == ZYDIS_CATEGORY_CMOV || instruction.raw.mnemonic == ZYDIS_MNEMONIC_XCHG;
  return code_.taken && !code_.elsewhere && !before.kept && !may_keep && reference_.known() &&
         before.state.holds(reference_.place) && !behind.holds(reference_.place);
}

Value FunctionWays::given_to(std::optional<Address> target, const MachineState& state) const {
  const unsigned number = target && code_.argument ? code_.argument(*target) : 1;
  return number <= kEncodedArguments.size() ? state.reg(kEncodedArguments[number - 1]) : Value();
}

// What a counter belongs to that is changed in place.
Value FunctionWays::counted_by(const DecodedInstruction& instruction, MachineState& state) {
  const ZydisDecodedOperand& to = instruction.operands[0];
  if (to.type != ZYDIS_OPERAND_TYPE_MEMORY) return {};
  Value object = state.address_of(to, instruction.next());
  object.offset = 0;
  return object;
}

bool FunctionWays::is_older(const Value& value) const {
  return code_.handed_out && older_.contains(value.place);
}

bool FunctionWays::passes(const Step& step) const {
  return !step.gives && std::any_of(step.passed.begin(), step.passed.end(),
                                    [&](const auto& one) { return is_reference(one.second); });
}

bool FunctionWays::passes_on(const Step& step) const {
  const auto lent = [&](unsigned argument) {
    return argument != 0 && step.called && code_.borrows && code_.borrows(*step.called, argument);
  };
  return !step.gives && std::any_of(step.passed.begin(), step.passed.end(), [&](const auto& one) {
    return is_reference(one.second) && !lent(one.first);
  });
}

std::optional<FunctionWays::Obtained> FunctionWays::obtained() const {
  if (!reference_.known() || reference_.offset != 0) return std::nullopt;
  if (const auto found = results_.find(reference_.place); found != results_.end())
    return Obtained{found->second, false, 0};
  const auto loaded = loads_.find(reference_.place);
  return loaded == loads_.end() || !one_reference_ ? std::nullopt : std::optional(loaded->second);
}

void FunctionWays::note_base(const DecodedInstruction& instruction, const MachineState& state) {
  const auto& operands = instruction.operands;
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV || operands[1].type != ZYDIS_OPERAND_TYPE_MEMORY) return;
  const Value address = state.address_of(operands[1], instruction.next());
  if (!address.known() || values_.is_stack(address)) return;
  const PlaceId loaded = values_.content(address).place;
  if (!bases_.contains(loaded))
    bases_.emplace(loaded, std::pair(instruction.address, bases_of(values_, state, address)));
}

// `mov (…), r`, from other memory than the stack.
void FunctionWays::note_load(const DecodedInstruction& instruction, MachineState& state) {
  constexpr unsigned kPointer = 64;
  const ZydisDecodedOperand& to = instruction.operands[0];
  const bool loads = instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV &&
                     to.type == ZYDIS_OPERAND_TYPE_REGISTER && to.size == kPointer &&
                     instruction.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
  const auto reg = loads ? MachineState::number_of(to.reg.value) : std::nullopt;
  if (!reg) return;
  const Value value = state.reg(*reg);
  const Value address = values_.loaded_from(value);
  if (value.known() && value.offset == 0 && address.known() && !values_.is_stack(address))
    loads_.try_emplace(value.place, Obtained{instruction.next(), true, *reg});
}

bool FunctionWays::gives_soon(Address at, const GivesBack& gives_back) const {
  constexpr int kSoon = 12;
  DecodedInstruction instruction;
  for (int i = 0; i < kSoon && read_instruction(*code_.module, at, instruction); ++i) {
    const bool call = instruction.is_call();
    if (gives_back(at, instruction.next(), call ? instruction.entered() : std::nullopt)) return true;
    if (call || instruction.is_branch() || instruction.is_return()) return false;
    const auto target = instruction.is_jump() ? instruction.branch_target() : instruction.next();
    if (!target) return false;
    at = *target;
  }
  return false;
}

// push %rbp; mov %rsp, %rbp
bool FunctionWays::has_frame_pointer() const {
  const auto function = code_.module->function_at(code_.from - 1);
  if (!function) return false;
  DecodedInstruction first;
  Address at = function->address;
  if (read_instruction(*code_.module, at, first) && first.raw.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
    at = first.next();
  DecodedInstruction second;
  return read_instruction(*code_.module, at, first) && first.raw.mnemonic == ZYDIS_MNEMONIC_PUSH &&
         first.operands[0].reg.value == ZYDIS_REGISTER_RBP &&
         read_instruction(*code_.module, first.next(), second) && second.raw.mnemonic == ZYDIS_MNEMONIC_MOV &&
         second.operands[0].reg.value == ZYDIS_REGISTER_RBP &&
         second.operands[1].reg.value == ZYDIS_REGISTER_RSP;
}

MachineState FunctionWays::at_begin() {
  MachineState state(values_);
  if (!code_.inlined && !code_.taken) return state;
  constexpr unsigned kStackPointer = 4;
  constexpr unsigned kFramePointer = 5;
  for (unsigned reg = 0; reg < 16; ++reg) {
    if (reg == kStackPointer) continue;
    state.set_reg(reg, values_.fresh());
    older_.insert(state.reg(reg).place);
  }
  if (has_frame_pointer()) {
    constexpr std::int64_t kFarAway = 1 << 20;  // how far from the stack's end is not known
    Value frame = state.reg(kStackPointer);
    frame.offset += kFarAway;
    state.set_reg(kFramePointer, frame);
  }
  if (code_.counted != 0) {
    reference_ = follow_to_count(state);
  } else if (code_.taken && !code_.elsewhere) {
    if (!code_.loaded) follow_to_call(state);
    reference_ = state.reg(code_.reg);
  } else if (code_.by_argument) {
    follow_to_variable(state);
  }
  return state;
}

// A smart pointer stores what it is given before it counts.
Value FunctionWays::follow_to_count(MachineState& state) {
  const std::vector<Value> stored = execute(straight_way(*code_.module, code_.counted).instructions, state);
  results_.clear();
  DecodedInstruction change;
  const bool known = read_instruction(*code_.module, code_.counted, change);
  const Value counted = known ? counted_by(change, state) : Value();
  kept_before_ = counted.known() && std::find(stored.begin(), stored.end(), counted) != stored.end();
  return counted;
}

std::vector<Value> FunctionWays::execute(const std::vector<DecodedInstruction>& way, MachineState& state) {
  std::vector<Value> stored;
  for (const DecodedInstruction& instruction : way) {
    if (instruction.is_call()) {
      return_from_call(state, instruction.next());
      continue;
    }
    Step step;
    note_uses(instruction, state, step);
    if (step.stored.known()) stored.push_back(step.stored);
    InstructionEffects(values_, facts_, 0).execute(instruction, state);
  }
  return stored;
}

void FunctionWays::return_from_call(MachineState& state, Address behind) {
  const Value result = values_.fresh();
  results_.emplace(result.place, behind);
  state.return_from_call(result);
}

// What earlier calls have returned is another thing than the reference, unless this call got it: it may
// return what it is given.
void FunctionWays::follow_to_call(MachineState& state) {
  std::vector<DecodedInstruction> way = straight_way_through_call(*code_.module, code_.from).instructions;
  if (way.empty()) return;
  const auto target = way.back().entered();
  way.pop_back();
  execute(way, state);
  for (const unsigned reg : kEncodedArguments) results_.erase(state.reg(reg).place);
  const Value given = given_to(target, state);
  // What was loaded right before may be another thing the next time.
  const Value from = values_.loaded_from(given);
  const bool kept = given.known() && (!from.known() || values_.is_stack(from));
  const bool known = code_.passed_in && kept && given.offset == 0 && !values_.is_constant(given);
  // What returns a number says by it that there is one.
  state.return_from_call(known ? given : values_.fresh());
}

// Of several variables, it may have been any.
void FunctionWays::follow_to_variable(MachineState& state) {
  std::vector<DecodedInstruction> way = straight_way_through_call(*code_.module, code_.from).instructions;
  if (way.empty()) return;
  way.pop_back();
  execute(way, state);
  std::vector<Value> variables;
  for (const unsigned reg : kEncodedArguments) {
    if (values_.is_stack(state.reg(reg)) && state.reg(reg).exact) variables.push_back(state.reg(reg));
  }
  status_ = values_.fresh();
  state.return_from_call(status_);
  if (variables.size() != 1) return;
  reference_ = values_.fresh();
  state.store_to_stack(variables.front(), reference_);
}

bool FunctionWays::read_one(const Waiting& waiting, const GivesBack& gives_back, const Ends& ends) {
  DecodedInstruction instruction;
  if (!read_instruction(*code_.module, waiting.at, instruction)) return false;
  Step& step = steps_[waiting.at];
  step.end = instruction.next();
  MachineState state = waiting.state;
  const bool call = instruction.is_call();
  const bool jump = instruction.is_jump();
  if (call) step.called = instruction.branch_target();
  const auto target = call || jump ? instruction.entered() : std::nullopt;
  const bool out = jump && (!instruction.branch_target() || !inside(*instruction.branch_target()));
  step.puts = step.gives = gives_back(waiting.at, step.end, call || out ? target : std::nullopt);
  if (out && !target && !step.gives)
    return false;  // a switch's table, or another tail call through a pointer
  step.takes_again = code_.taken && (call || code_.loaded || code_.counted != 0) && step.end == code_.from;
  if (step.takes_again || (call && taker_ && step.called == taker_))
    step.holding = state.places_of(reference_);
  step.leaves = instruction.is_return() || out;
  if (instruction.is_branch()) {
    step.tested = waiting.tested;
    note_none(waiting, instruction, step);
  }
  if (instruction.is_return()) step.returned = step.result = state.reg(0);
  step.returns_it = instruction.is_return() && is_reference(step.returned);
  note_uses(instruction, state, step);
  const Value first = given_to(target, state);
  if (step.gives) {
    const Value given = call || out ? first : counted_by(instruction, state);
    if (!reference_.known()) reference_ = given;
    one_reference_ &= given == reference_;
    given_back_ |= is_reference(given);
    const bool another = given.known() && given != reference_;
    const bool result = results_.contains(given.place);
    if (code_.taken && another && (result || is_older(given))) step.gives = false;
    if (result && !is_reference(given)) step.puts = false;
  }
  const bool never_returns = call && ((target && ends(*target)) || (!code_.inlined && !inside(step.end)));
  if (step.leaves || ends_here(instruction.raw.mnemonic) || never_returns) return true;
  Value tested = compared(instruction, state);
  bool against_none = instruction.compares_with_zero();
  if (!tested.known() && (instruction.is_branch() || instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV)) {
    tested = waiting.tested;
    against_none = waiting.against_none;
  }
  if (jump) {
    step.result = state.reg(0);
    waiting_.push_back({*instruction.branch_target(), std::move(state), {}, false, waiting.kept});
    step.next.push_back(*instruction.branch_target());
    return true;
  }
  if (call) {
    return_from_call(state, step.end);
    tested = {};
  } else {
    note_replaced(instruction, state, step);
    if (names_slot_) note_base(instruction, state);
    InstructionEffects(values_, facts_, 0).execute(instruction, state);
    note_load(instruction, state);
  }
  const bool kept = waiting.kept || keeps(step);
  step.lets_go = !kept && lets_go(waiting, instruction, state);
  step.result = state.reg(0);
  const auto to = instruction.is_branch() ? instruction.branch_target() : std::nullopt;
  if (to) step.next.push_back(*to);
  if (to && !code_.inlined && !inside(*to) && gives_back(waiting.at, step.end, *to)) {
    leave_by_branch(*to, given_to(to, waiting.state));
  } else if (to) {
    waiting_.push_back({*to, state, tested, against_none, kept});
  }
  step.next.push_back(step.end);
  waiting_.push_back({step.end, std::move(state), tested, against_none, kept});
  return true;
}

// A tail call under a condition, as clang makes them since 16: to what gives back.
void FunctionWays::leave_by_branch(Address to, const Value& given) {
  Step& gone = steps_[to];
  gone.leaves = gone.gives = true;
  gone.end = to;
  if (!reference_.known()) reference_ = given;
  one_reference_ &= given == reference_;
  given_back_ |= is_reference(given);
}

// Compilers make a second call of the one before a loop, for its later turns.
void FunctionWays::end_at_later_turns() {
  if (!taker_) return;
  using Line = std::tuple<std::string, std::string, unsigned>;
  const auto lines_of = [this](Address at) {  // outwards, of what is inlined there
    std::vector<Line> lines;
    for (const SourceFrame& frame : code_.module->source_frames(at))
      lines.emplace_back(frame.function, frame.file, frame.line);
    return lines;
  };
  const std::vector<Line> own = lines_of(code_.from - 1);
  if (own.empty() || std::get<2>(own.front()) == 0) return;
  std::vector<Address> later;
  for (const auto& [at, step] : steps_) {
    if (step.called == taker_ && !step.takes_again && lines_of(at) == own &&
        reached({step.next.begin(), step.next.end()}, Ending::none).contains(at))
      later.push_back(at);
  }
  for (const Address at : later) steps_.at(at).takes_again = true;
}

bool FunctionWays::read(const GivesBack& gives_back, const Ends& ends) {
  if (const auto function = code_.module->function_at(code_.from - 1); function && behind_call())
    taker_ = direct_call_before(*code_.module, *function, code_.from);
  waiting_.push_back({code_.from, at_begin(), {}, false, false});
  while (!waiting_.empty()) {
    // What is let go tells most where the reference has not been kept before.
    const auto first =
        std::find_if(waiting_.rbegin(), waiting_.rend(), [](const Waiting& one) { return !one.kept; });
    if (first != waiting_.rend()) std::iter_swap(first, waiting_.rbegin());
    const Waiting next = std::move(waiting_.back());
    waiting_.pop_back();
    if (steps_.contains(next.at)) continue;
    if (!inside(next.at) && !is_between(next.at)) {  // it goes on behind an inlined copy
      Step& step = steps_[next.at];
      step.leaves = true;
      step.end = next.at;
      step.gives = gives_soon(next.at, gives_back);
      continue;
    }
    if (steps_.size() > kMostInstructions || !read_one(next, gives_back, ends)) return false;
  }
  end_at_let_go();
  end_at_later_turns();
  return true;
}

// A put behind it gives back another reference. Where there is none, the function leaves. That the call has
// left the reference in memory, and returned something else, shows in no put of what it returned.
void FunctionWays::end_at_let_go() {
  if (!given_back_) return;
  std::set<Address> all;
  for (const auto& [at, step] : steps_) all.insert(at);
  const std::set<Address> giving = may_give(all);
  for (auto& [at, step] : steps_) {
    step.takes_again |= step.lets_go && std::any_of(step.next.begin(), step.next.end(),
                                                    [&](Address next) { return giving.contains(next); });
  }
}

std::set<Address> FunctionWays::reached(std::set<Address> from, Ending ending) const {
  const auto ends = [&](const Step& step) {
    if (step.takes_again) return true;
    if (ending == Ending::none) return false;
    return step.gives || (ending == Ending::put_or_store && is_reference(step.stored));
  };
  std::vector<Address> waiting(from.begin(), from.end());
  while (!waiting.empty()) {
    const Step& step = steps_.at(waiting.back());
    waiting.pop_back();
    if (ends(step)) continue;
    for (const Address next : step.next) {
      if (from.insert(next).second) waiting.push_back(next);
    }
  }
  return from;
}

std::set<Address> FunctionWays::may_give(const std::set<Address>& among) const {
  std::map<Address, std::vector<Address>> before;
  std::vector<Address> giving;
  for (const Address at : among) {
    const Step& step = steps_.at(at);
    if (step.gives) {
      giving.push_back(at);
    } else if (!step.takes_again) {
      for (const Address next : step.next) before[next].push_back(at);
    }
  }
  return leading_to(std::move(giving), before);
}

// A put of another reference shows that what stands there does not give back this one.
void FunctionWays::follow_passed() {
  last_ = code_.from;
  for (const Passed& passed : code_.passed) {
    const std::set<Address> ahead = reached({last_}, Ending::none);
    if (passed.at == code_.from) {
      again_ = std::any_of(ahead.begin(), ahead.end(), [&](Address at) { return steps_.at(at).takes_again; });
      break;
    }
    if (!ahead.contains(passed.at)) break;  // another call of the function
    if (steps_.at(passed.at).takes_again) {
      again_ = true;
      break;
    }
    last_ = passed.at;
    if (!passed.gave_other) continue;
    for (auto& [at, step] : steps_) {
      if (step.end == passed.at) step.gives = false;
    }
  }
}

std::vector<Address> FunctionWays::instructions() const {
  std::vector<Address> all;
  for (const auto& [at, step] : steps_) all.push_back(at);
  return all;
}

bool FunctionWays::fits(Address branch, const std::set<Address>& way) const {
  return way.contains(last_) || reached({last_}, Ending::put).contains(branch);
}

bool FunctionWays::hands_over(Address at) const {
  const Step& step = steps_.at(at);
  return step.called && !borrowers_.contains(*step.called) && passes_on(step);
}

std::set<Address> FunctionWays::in_hand_throughout(Address first) const {
  std::map<Address, std::vector<Address>> before;
  std::set<Address> seen{first};
  std::vector<Address> waiting{first};
  std::vector<Address> ends;
  while (!waiting.empty()) {
    const Address at = waiting.back();
    waiting.pop_back();
    const Step& step = steps_.at(at);
    if (step.gives || hands_over(at)) continue;
    if (step.leaves || step.takes_again) ends.push_back(at);
    if (step.takes_again) continue;
    for (const Address next : step.next) {
      if (next == step.none) continue;
      before[next].push_back(at);
      if (seen.insert(next).second) waiting.push_back(next);
    }
  }
  return leading_to(std::move(ends), before);
}

LostWay FunctionWays::way(Address branch, Address first, const std::set<Address>& good) const {
  LostWay way;
  way.branch = branch;
  std::set<Address> all = reached({first}, Ending::put);
  std::set<Address> shared = good;
  shared.insert(without_.begin(), without_.end());
  std::set<Address> behind;
  bool some_handed_over = false;
  for (const Address at : all) {
    if (!hands_over(at)) continue;
    some_handed_over = true;
    behind.insert(steps_.at(at).next.begin(), steps_.at(at).next.end());
  }
  if (some_handed_over) {
    std::set<Address> in_hand = in_hand_throughout(first);
    way.handed_over = in_hand.empty();
    if (!way.handed_over) {
      all = std::move(in_hand);
      shared.merge(reached(std::move(behind), Ending::none));
    }
  }
  for (const Address at : all) {
    const Step& step = steps_.at(at);
    if (!shared.contains(at)) way.own.push_back(at);
    way.passed_on |= passes_on(step);
    way.stored |= stores(step);
    if (moves(step)) way.moved = at;
    if (step.leaves) way.leave = at;
    way.again |= step.takes_again;
  }
  return way;
}

bool FunctionWays::guards_loop(Address branch) const {
  for (const Address at : reached({branch}, Ending::put)) {
    const Step& step = steps_.at(at);
    if (!step.gives) continue;
    if (!reached({step.next.begin(), step.next.end()}, Ending::none).contains(at)) return false;
  }
  return true;
}

std::vector<LostWay> FunctionWays::lost(const GivesBack& gives_back, const Ends& ends) {
  if (!read(gives_back, ends) || kept_before_) return {};
  follow_passed();
  const std::set<Address> before_put = reached({code_.from}, Ending::put);
  const std::set<Address> gives = may_give(before_put);
  if (!gives.contains(code_.from)) return {};
  std::set<Address> behind_puts;
  for (const Address at : before_put) {
    const Step& step = steps_.at(at);
    if (!step.gives) continue;
    ++puts_;
    behind_puts.insert(at);
    behind_puts.insert(step.next.begin(), step.next.end());
  }
  const std::set<Address> good = reached(std::move(behind_puts), Ending::none);
  good_ = good;
  good_.insert(gives.begin(), gives.end());
  std::set<Address> without;
  for (const Address at : before_put) {
    const Step& step = steps_.at(at);
    if (step.none && steps_.contains(*step.none)) without.insert(*step.none);
  }
  without_ = reached(std::move(without), Ending::none);
  const std::set<Address> not_kept = reached({code_.from}, Ending::put_or_store);
  borrowers_.clear();
  for (const Address at : gives) {
    const Step& step = steps_.at(at);
    if (step.called && passes_on(step)) borrowers_.insert(*step.called);
  }
  std::vector<LostWay> ways;
  for (const Address at : gives) {
    const Step& step = steps_.at(at);
    // What the call has returned tells whether there is any.
    const bool asks = is_reference(step.tested) || (status_.known() && step.tested == status_);
    if (step.gives || asks || !not_kept.contains(at) || good.contains(at)) continue;
    for (const Address next : step.next) {
      if (!gives.contains(next)) ways.push_back(way(at, next, good));
    }
    if (ways.size() > kMostBranches) return {};
  }
  // What keeps it or only ends the program loses nothing.
  std::erase_if(ways, [&](const LostWay& way) {
    if (way.stored || (way.own.empty() && guards_loop(way.branch))) return true;
    const auto all = reached({way.own.empty() ? way.branch : way.own.front()}, Ending::put);
    if (again_ && !way.again) return true;
    return !fits(way.branch, all) || std::none_of(all.begin(), all.end(), [&](Address at) {
      return steps_.at(at).leaves || steps_.at(at).takes_again;
    });
  });
  return ways;
}

std::vector<Address> FunctionWays::leaves(const GivesBack& gives_back, const Ends& ends) {
  if (!read(gives_back, ends) || kept_before_) return {};
  follow_passed();
  const std::set<Address> before = reached({code_.from}, Ending::put);
  if (std::any_of(before.begin(), before.end(), [&](Address at) { return stores(steps_.at(at)); })) return {};
  // It came to what gives back by whatever variable has it, and that had it no more: a callee took it out.
  if (again_ || !before.contains(last_)) return {};
  return leaves_in_hand(false);
}

std::vector<Address> FunctionWays::drops(const GivesBack& gives_back, const Ends& ends) {
  if (!read(gives_back, ends) || kept_before_) return {};
  follow_passed();
  return again_ || !steps_.contains(last_) ? std::vector<Address>() : leaves_in_hand(true);
}

bool FunctionWays::keeps_on_some_way() const {
  return std::any_of(steps_.begin(), steps_.end(), [this](const auto& one) { return keeps(one.second); });
}

std::vector<Address> FunctionWays::overwrites(const GivesBack& gives_back, const Ends& ends) {
  if (!code_.taken || code_.elsewhere || !read(gives_back, ends)) return {};
  follow_passed();
  std::vector<Address> found;
  if (!steps_.contains(last_)) return found;
  if (const auto last = overwritten_in_loop()) found.push_back(*last);
  if (!taker_) return found;
  std::vector<Address> waiting{last_};
  std::set<Address> seen{last_};
  while (!waiting.empty()) {
    const Step& step = steps_.at(waiting.back());
    const Address at = waiting.back();
    waiting.pop_back();
    if (step.gives || stores(step)) continue;
    const auto result = results_.find(step.replaced_by.place);
    if (is_reference(step.replaced) && step.replaced_by.known() && result != results_.end() &&
        called_before(result->second) == taker_) {
      found.push_back(at);
      continue;
    }
    for (const Address next : step.next) {
      if (next != step.none && seen.insert(next).second) waiting.push_back(next);
    }
  }
  return found;
}

std::optional<Address> FunctionWays::overwritten_in_loop() const {
  std::vector<Address> waiting{code_.from};
  std::set<Address> seen{code_.from};
  while (!waiting.empty()) {
    const Step& step = steps_.at(waiting.back());
    waiting.pop_back();
    if (step.gives || stores(step) || passes_on(step)) continue;
    if (const auto last = step.takes_again ? last_overwritten(step.holding) : std::nullopt) return last;
    if (step.takes_again) continue;
    for (const Address next : step.next) {
      if (next != step.none && seen.insert(next).second) waiting.push_back(next);
    }
  }
  return std::nullopt;
}

// Goes on in the next turn, with what has the reference of this one.
std::optional<Address> FunctionWays::last_overwritten(ValuePlaces holding) const {
  std::erase_if(holding.registers, [](unsigned reg) { return !is_preserved(reg); });
  if (holding.registers.empty() && holding.stack.empty()) return std::nullopt;
  std::vector<std::pair<Address, ValuePlaces>> waiting{{code_.from, std::move(holding)}};
  std::set<Address> seen{code_.from};
  while (!waiting.empty()) {
    auto [at, places] = std::move(waiting.back());
    waiting.pop_back();
    const Step& step = steps_.at(at);
    if (step.puts || step.takes_again) continue;
    for (const unsigned reg : step.home.registers) std::erase(places.registers, reg);
    for (const std::int64_t slot : step.home.stack) std::erase(places.stack, slot);
    if (places.registers.empty() && places.stack.empty()) return at;
    for (const Address next : step.next) {
      if (next != step.none && seen.insert(next).second) waiting.emplace_back(next, places);
    }
  }
  return std::nullopt;
}

std::vector<Address> FunctionWays::last_uses(const GivesBack& gives_back, const Ends& ends) {
  if (!code_.taken || code_.elsewhere || !read(gives_back, ends)) return {};
  std::vector<Address> uses;
  for (const Address at : reached({code_.from}, Ending::none)) {
    const Step& step = steps_.at(at);
    if (step.gives || stores(step) || step.returns_it) return {};
    if (passes(step)) uses.push_back(at);
  }
  std::vector<Address> last;
  for (const Address at : uses) {
    const Step& step = steps_.at(at);
    const std::set<Address> later = reached({step.next.begin(), step.next.end()}, Ending::none);
    if (std::none_of(later.begin(), later.end(), [&](Address next) { return passes(steps_.at(next)); }))
      last.push_back(at);
  }
  return last;
}

std::vector<Address> FunctionWays::leaves_in_hand(bool kept) const {
  std::vector<Address> waiting{last_};
  std::set<Address> seen{last_};
  std::vector<Address> found;
  while (!waiting.empty()) {
    const Address at = waiting.back();
    waiting.pop_back();
    const Step& step = steps_.at(at);
    if (kept ? keeps(step) || step.takes_again : step.gives || step.takes_again || step.returns_it) continue;
    if (step.leaves && inside(at)) found.push_back(at);
    for (const Address next : step.next) {
      if (next == step.none) continue;
      if (!inside(next) && !steps_.at(next).gives) found.push_back(at);
      if (seen.insert(next).second) waiting.push_back(next);
    }
  }
  if (kept && !found.empty()) return ends_of_own(seen);
  std::sort(found.begin(), found.end());
  return found;
}

// Ways out come together where the function ends: the last place of their own tells them apart, and what is
// the result there.
std::vector<Address> FunctionWays::ends_of_own(const std::set<Address>& in_hand) const {
  std::set<Address> kept;
  for (const Address at : in_hand) {
    const Step& step = steps_.at(at);
    if (keeps(step)) kept.insert(step.next.begin(), step.next.end());
  }
  const std::set<Address> shared = reached(kept, Ending::none);
  std::vector<Address> ends;
  for (const Address at : in_hand) {
    const Step& step = steps_.at(at);
    const bool joins = step.leaves || std::any_of(step.next.begin(), step.next.end(),
                                                  [&](Address next) { return shared.contains(next); });
    if (!joins || keeps(step) || shared.contains(at) || is_reference(step.result)) continue;
    const std::set<Address> rest = reached({step.next.begin(), step.next.end()}, Ending::none);
    if (std::none_of(rest.begin(), rest.end(), [&](Address next) { return keeps(steps_.at(next)); }))
      ends.push_back(at);
  }
  return ends;
}

std::optional<Address> FunctionWays::called_before(Address behind) const {
  for (const auto& [at, step] : steps_) {
    if (step.end == behind && step.called) return step.called;
  }
  return std::nullopt;
}

}  // namespace refhist
