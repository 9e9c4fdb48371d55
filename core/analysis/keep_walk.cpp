#include "analysis/keep_walk.h"

#include <algorithm>

#include "x86/instruction.h"
#include "x86/memory_copy.h"

namespace refhist {

namespace {

constexpr std::size_t kMostSteps = 60'000;
constexpr Address kReturn = 0;         // the place of all returns
constexpr std::size_t kMostWays = 12;  // through one instruction

bool is_memory(const ZydisDecodedOperand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_MEMORY; }

/// Flags are as they were.
bool keeps_flags(const DecodedInstruction& instruction) {
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  return mnemonic == ZYDIS_MNEMONIC_MOV || mnemonic == ZYDIS_MNEMONIC_LEA || instruction.is_branch() ||
         instruction.is_jump();
}

}  // namespace

bool KeepWalk::inside(Address at) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const FileRange& range) { return range.contains(at); });
}

void KeepWalk::note_compared(Way& way, const DecodedInstruction& instruction) {
  if (instruction.compares_with_zero()) {
    way.tested = way.machine.read(instruction.operands[0], instruction.next());
  } else if (!keeps_flags(instruction)) {
    way.tested = {};
  }
}

// What is taken out of a place and replaced there is in the hands of whoever has it.
void KeepWalk::note_stored(Way& way, const DecodedInstruction& instruction) {
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV || !is_memory(instruction.operands[0])) return;
  const Value address = way.machine.address_of(instruction.operands[0], instruction.next());
  if (!address.known() || values_.is_stack(address)) return;
  drop_copies(way, address);
  const Value before = values_.content(address);
  const Value now = way.machine.read(instruction.operands[1], instruction.next());
  if (now == before) return;
  note_used(way, now);
  if (now.known() && now.offset == 0) way.away.insert(now.place);
  Balance& balance = way.balances[before.place];
  ++balance.taken;
  ++balance.left;
}

void KeepWalk::note_change(Way& way, const DecodedInstruction& instruction, int by) {
  if (by == 0) return;
  Value given;
  if (instruction.is_call() || instruction.is_jump() || instruction.is_branch()) {
    const auto target = instruction.entered();
    const unsigned number = target && called_.argument ? called_.argument(*target) : 1;
    given = way.machine.reg(kEncodedArguments.at(number - 1));
    if (values_.is_stack(given)) given = way.machine.load(given);  // a variable to clear
  } else if (is_memory(instruction.operands[0])) {
    given = way.machine.address_of(instruction.operands[0], instruction.next());
  } else if (by < 0 && is_memory(instruction.operands[1])) {  // what tests for the last one
    const Value counter = way.machine.address_of(instruction.operands[1], instruction.next());
    if (counter.known()) way.put.insert(counter.place);
    return;
  }
  if (!given.known()) return;
  if (by < 0) {
    if (put_ != 0) note_put(way, instruction, given);
    note_used(way, given);
    way.put.insert(given.place);
  }
  Balance& balance = way.balances[given.place];
  balance.taken += by > 0 ? 1 : 0;
  balance.left += by;
}

void KeepWalk::note_put(Way& way, const DecodedInstruction& instruction, const Value& value) {
  // A tail call returns nowhere; it would behind itself.
  const bool here = instruction.next() == put_ || instruction.address == put_;
  if (!here || values_.is_constant(value) || values_.is_stack(value)) return;
  const auto found = way.balances.find(value.place);
  const Balance balance = found == way.balances.end() ? Balance() : found->second;
  if (balance.none) return;
  way.last_put = {value.place};
  if (!given_) given_ = Given();
  if (balance.left > 0) {
    given_->owned = true;
    return;
  }
  set_origin(*given_, value);
  given_->lent |= balance.taken == 0;
  given_->again |= given_->from != Origin::From::other && way.put.contains(value.place);
  if (const auto handed = way.handed.find(value.place); handed != way.handed.end())
    given_->handed_over = handed->second;
}

void KeepWalk::set_origin(Origin& origin, const Value& value) const {
  const auto result = results_.find(value.place);
  if (result != results_.end()) {
    origin.from = Origin::From::result;
    origin.behind = result->second;
  } else if (const unsigned number = values_.root_argument(value);
             number != 0 && !values_.loaded_from(value).known()) {
    origin.from = Origin::From::argument;
    origin.argument = number;
  }
}

void KeepWalk::note_variables(const Way& way, const DecodedInstruction& call) {
  for (const unsigned reg : kEncodedArguments) {
    const Value value = way.machine.reg(reg);
    if (value.known() && values_.is_stack(value) && value.exact) fillers_[value.offset].insert(call.next());
  }
}

// What a register or a part of one goes to that is not the function's own stack: whether it comes out of
// there again is not followed.
void KeepWalk::note_escaped(Way& way, const DecodedInstruction& instruction) {
  const auto writes = [](const ZydisDecodedOperand& operand) {
    return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  };
  const bool out = std::any_of(instruction.operands.begin(), instruction.operands.end(),
                               [&](const ZydisDecodedOperand& operand) {
                                 if (!writes(operand)) return false;
                                 if (!is_memory(operand)) return vector_number(operand).has_value();
                                 const Value address = way.machine.address_of(operand, instruction.next());
                                 return !address.known() || !values_.is_stack(address);
                               });
  if (!out || instruction.is_call()) return;
  for (const ZydisDecodedOperand& operand : instruction.operands) {
    if (!is_register(operand) || (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) == 0) continue;
    const Value value = way.machine.read(operand, instruction.next());
    if (value.known()) way.away.insert(value.place);
  }
}

// A call that gives back somewhere inside has been passed it.
void KeepWalk::note_use(Way& way, const DecodedInstruction& instruction, int by, bool leaves) {
  const bool goes = instruction.is_call() || leaves;
  const Address place = goes ? instruction.next() : instruction.address;
  const auto each = [&](const auto& note) {
    for (const unsigned reg : kEncodedArguments) {
      const Value value = way.machine.reg(reg);
      if (value.known() && !values_.is_stack(value) && !values_.is_constant(value)) note(value);
    }
  };
  if (instruction.is_call() && by == 0 && place == put_) {
    way.last_put.clear();
    each([&](const Value& value) { way.last_put.insert(value.place); });
  }
  if (place != use_ || way.last_put.empty()) return;
  const auto note = [&](const Value& value) {
    (way.last_put.contains(value.place) ? uses_same_ : uses_other_) = true;
  };
  if (goes) return each(note);
  for (const ZydisDecodedOperand& operand : instruction.operands) {
    if (!is_memory(operand)) continue;
    const Value address = way.machine.address_of(operand, instruction.next());
    if (address.known() && !values_.is_stack(address)) note(address);
  }
}

std::optional<bool> KeepWalk::uses_given(Address put, Address use) {
  put_ = put;
  use_ = use;
  run({});
  if (!uses_same_ && !uses_other_) return std::nullopt;
  return uses_same_;
}

void KeepWalk::note_handed_over(Way& way, const DecodedInstruction& call) {
  const auto target = call.entered();
  const auto number = target ? called_.takes_over(*target) : std::nullopt;
  if (!number || *number > kEncodedArguments.size()) return;
  const Value value = way.machine.reg(kEncodedArguments[*number - 1]);
  if (!value.known() || values_.is_constant(value)) return;
  way.handed[value.place] = call.next();
  --way.balances[value.place].left;
}

std::optional<KeepWalk::Given> KeepWalk::given(Address put) {
  put_ = put;
  run({});
  return given_;
}

const KeepWalk::Seen* KeepWalk::seen_of_argument(unsigned argument) {
  Wanted wanted;
  wanted.forgets = true;
  forgets_ = true;
  run(wanted);
  const auto found = seen_.find(argument);
  return found == seen_.end() ? nullptr : &found->second;
}

bool KeepWalk::leaves_alone(unsigned argument) {
  const Seen* seen = seen_of_argument(argument);
  return seen != nullptr && seen->gave && seen->untaken;
}

bool KeepWalk::only_looks_at(unsigned argument) {
  const Seen* seen = seen_of_argument(argument);
  return !unread_ && waiting_.empty() && seen != nullptr && !seen->away;
}

void KeepWalk::keep(Way& way, Address place, const Value& value, const Value& stored_at) {
  if (const auto before = way.kept.find(place); before != way.kept.end())
    finish(way, place, before->second.first, before->second.second);
  way.kept.erase(place);
  if (!held_.contains(place)) held_.emplace(place, way.machine.places_of(value));
  if (in_one_container(values_.loaded_from(value), stored_at)) return;
  if (value.known() && value.offset == 0 && value.exact) way.kept[place] = {value, stored_at};
}

// An array's elements move up where one is removed.
bool KeepWalk::in_one_container(const Value& from, const Value& to) const {
  if (!from.known() || !to.known()) return false;
  const bool looked_up = asked_.contains(values_.root(from).place) && asked_.contains(values_.root(to).place);
  if (from.exact && to.exact && !looked_up) return false;
  const Value container = container_of(from);
  return container.known() && !values_.is_stack(container) && container == container_of(to);
}

// What a call has looked up belongs to what it was given.
Value KeepWalk::container_of(const Value& address) const {
  const Value root = values_.root(address);
  const auto asked = asked_.find(root.place);
  return asked == asked_.end() ? root : values_.root(asked->second);
}

// What lay there has to go somewhere: whoever has it in hand may still give it back until the way ends.
void KeepWalk::note_replaced(Way& way, const DecodedInstruction& instruction) {
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_ADD || instruction.raw.mnemonic == ZYDIS_MNEMONIC_SUB)
    return;  // the end of a vector, moved on in place
  const Value address = way.machine.address_of(instruction.operands[0], instruction.next());
  if (!address.known() || values_.is_stack(address)) return;
  const Value first = values_.content(address);
  const auto stored = way.stored.find(first.place);
  const bool is_new = stored == way.stored.end() && made_.contains(values_.root(address).place);
  const Value before = stored == way.stored.end() ? first : stored->second;
  const Value now = way.machine.read(instruction.operands[1], instruction.next());
  const bool done = is_none(way, before) || way.put.contains(before.place) || way.away.contains(before.place);
  way.stored[first.place] = now;
  way.put.erase(now.place);
  const bool given = way.given.contains(before.place) || way.given.contains(address.place);
  const bool moved_on = now.known() && now.place == before.place;  // the end of a vector that grows
  if (is_new || done || given || !before.known() || values_.is_constant(before) || moved_on) return;
  const ValuePlaces held = way.machine.places_of(before);
  if (held.registers.empty() && held.stack.empty())
    drops_.try_emplace(instruction.address, address);
  else
    way.replaced[instruction.address] = {before, address};
}

void KeepWalk::note_content(Way& way, const DecodedInstruction& instruction) {
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV || !is_memory(instruction.operands[0])) return;
  const Value address = way.machine.address_of(instruction.operands[0], instruction.next());
  if (!address.known() || values_.is_stack(address)) return;
  way.stored[values_.content(address).place] = way.machine.read(instruction.operands[1], instruction.next());
}

void KeepWalk::note_ends(Way& way, const DecodedInstruction& instruction, const Ends& ends) {
  if (instruction.is_return()) note_ended(way, kReturn, values_.argument(1), ends.offset);
  const auto call = ends.calls.find(instruction.address);
  if (call == ends.calls.end()) return;
  note_ended(way, call->first, way.machine.reg(kEncodedArguments[call->second - 1]), ends.offset);
}

void KeepWalk::note_ended(Way& way, Address place, const Value& holder, std::int64_t offset) {
  if (!holder.known() || values_.is_stack(holder) || values_.is_constant(holder)) return;
  if (!held_.contains(place)) held_.emplace(place, way.machine.places_of(holder));
  const Value pointer = values_.content({holder.place, holder.offset + offset, holder.exact});
  const auto stored = way.stored.find(pointer.place);
  if (stored == way.stored.end() && made_.contains(values_.root(holder).place)) return;
  const Value now = stored == way.stored.end() ? pointer : stored->second;
  if (is_none(way, now) || is_none(way, holder) || values_.is_constant(now)) return;
  const auto put = [&](const Value& value) {
    return way.put.contains(value.place) || way.given.contains(value.place);
  };
  Ended& ended = ended_[place];
  ended.at = way.at;
  ended.own = holder == values_.argument(1);
  const ValuePlaces held = way.machine.places_of(now);
  const bool in_hand = !held.registers.empty() || !held.stack.empty();
  (in_hand || put(now) || put(pointer) || way.given.contains(holder.place) ? ended.given : ended.left) = true;
}

bool KeepWalk::is_none(const Way& way, const Value& value) {
  const auto balance = way.balances.find(value.place);
  return balance != way.balances.end() && balance->second.none;
}

void KeepWalk::note_used(Way& way, const Value& value) {
  std::erase_if(way.replaced, [&](const auto& one) { return one.second.first.place == value.place; });
}

void KeepWalk::note_arguments(Way& way, std::optional<Address> target, const Wanted& wanted) const {
  const bool gives = !target || called_.gives(*target);
  for (const unsigned reg : kEncodedArguments) {
    const Value value = way.machine.reg(reg);
    if (!value.known() || values_.is_stack(value)) continue;
    note_used(way, value);
    const bool holder = wanted.ends != nullptr && target && reg == kEncodedArguments[0] && value.offset == 0;
    if (gives && (!holder || called_.gives_member(*target, wanted.ends->offset)))
      way.given.insert(value.place);
  }
}

// The copy is the original, until a reference is taken for one of them.
void KeepWalk::note_copied_memory(Way& way, const DecodedInstruction& instruction, std::int64_t behind) {
  Value from = way.machine.reg(kEncodedArguments[1]);
  Value to = way.machine.reg(kEncodedArguments[0]);
  if (stored_words(instruction) > 0) {
    const auto reg = vector_number(instruction.operands[1]);
    const auto loaded = reg ? way.vectors.find(*reg) : way.vectors.end();
    if (loaded == way.vectors.end()) return;
    from = loaded->second;
    to = way.machine.address_of(instruction.operands[0], instruction.next());
  }
  if (!from.known() || !to.known() || values_.is_stack(to) || values_.is_constant(from)) return;
  from.offset += behind;
  to.offset += behind;
  const Value value = way.machine.load(from);
  if (!value.known()) return;
  if (!bases_.contains(instruction.address))
    bases_.emplace(instruction.address, bases_of(values_, way.machine, to));
  copies_.insert(instruction.address);
  keep(way, instruction.address, value, to);
  way.stored[values_.content(to).place] = value;
}

void KeepWalk::note_vector(Way& way, const DecodedInstruction& instruction) {
  if (const auto reg = vector_number(instruction.operands[0])) {
    const Value from = loads_vector(instruction)
                           ? way.machine.address_of(instruction.operands[1], instruction.next())
                           : Value();
    if (from.known()) {
      way.vectors[*reg] = from;
    } else if ((instruction.operands[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) {
      way.vectors.erase(*reg);
    }
  }
  const auto reg = stored_words(instruction) > 0 ? vector_number(instruction.operands[1]) : std::nullopt;
  if (!reg || way.vectors.contains(*reg)) return;
  Value to = way.machine.address_of(instruction.operands[0], instruction.next());
  if (!to.known() || values_.is_stack(to)) return;
  for (std::int64_t word = 0; word < stored_words(instruction); ++word, to.offset += 8) {
    drop_copies(way, to);
    Balance& balance = way.balances[values_.content(to).place];
    ++balance.taken;
    ++balance.left;
  }
}

void KeepWalk::drop_copies(Way& way, const Value& address) const {
  std::erase_if(way.kept,
                [&](const auto& one) { return copies_.contains(one.first) && one.second.second == address; });
}

void KeepWalk::note_wiped(Way& way, const Value& wiped) const {
  std::erase_if(way.kept, [&](const auto& one) {
    return copies_.contains(one.first) && values_.loaded_from(one.second.first).place == wiped.place;
  });
}

void KeepWalk::note_destroyed(Way& way, const DecodedInstruction& call) {
  for (std::size_t i = 1; i < kEncodedArguments.size(); ++i) {
    const auto code = code_in(way.machine.reg(kEncodedArguments[i]));
    if (!code || !called_.destroys(*code)) continue;
    return keep(way, call.address, way.machine.reg(kEncodedArguments[i - 1]), {});
  }
}

// A function's own address, or the slot that has it.
std::optional<Address> KeepWalk::code_in(const Value& value) const {
  const Value address = values_.is_constant(value) ? value : values_.loaded_from(value);
  if (!values_.is_constant(address) || (address != value && value.offset != 0)) return std::nullopt;
  return static_cast<Address>(address.offset);
}

void KeepWalk::note_kept(Way& way, const DecodedInstruction& instruction, const Wanted& wanted) {
  if (wanted.drops && instruction.is_return()) note_used(way, way.machine.reg(0));
  if (wanted.ends != nullptr) return note_ends(way, instruction, *wanted.ends);
  if (wanted.destroyed && (instruction.is_call() || instruction.is_jump() || leaves_if(instruction)))
    return note_destroyed(way, instruction);
  if (wanted.returns && instruction.is_return()) keep(way, kReturn, way.machine.reg(0), {});
  if (const auto copy = wanted.copies.find(instruction.address); copy != wanted.copies.end())
    return note_copied_memory(way, instruction, copy->second);
  if (!wanted.places.contains(instruction.address)) return;
  if (wanted.argument) {
    if (*wanted.argument <= kEncodedArguments.size())
      keep(way, instruction.address, way.machine.reg(kEncodedArguments[*wanted.argument - 1]), {});
    return;
  }
  const Value address = way.machine.address_of(instruction.operands[0], instruction.next());
  if (values_.is_stack(address)) return;
  if (!bases_.contains(instruction.address))
    bases_.emplace(instruction.address, bases_of(values_, way.machine, address));
  if (wanted.drops) return note_replaced(way, instruction);
  keep(way, instruction.address, way.machine.read(instruction.operands[1], instruction.next()), address);
}

void KeepWalk::return_from_call(Way& way, const DecodedInstruction& call, int by) {
  const Address behind = call.next();
  const auto [result, added] = result_values_.try_emplace(behind);
  if (added) {
    result->second = values_.fresh();
    results_.emplace(result->second.place, behind);
    if (const auto target = call.branch_target()) calls_[behind] = *target;
    if (const Value first = way.machine.reg(kEncodedArguments[0]); first.known())
      asked_[result->second.place] = first;
  }
  const Value value = result->second;
  std::erase_if(way.kept, [&](const auto& one) {  // of the call before in a loop
    if (one.second.first.place != value.place) return false;
    finish(way, one.first, one.second.first, one.second.second);
    return true;
  });
  way.balances.erase(value.place);
  way.put.erase(value.place);
  way.handed.erase(value.place);
  if (by > 0) way.balances[value.place] = {1, 1, false};
  way.machine.return_from_call(value);
  way.tested = {};
}

void KeepWalk::execute(Way& way, const DecodedInstruction& instruction) {
  note_stored(way, instruction);
  note_vector(way, instruction);
  note_compared(way, instruction);
  const Value loaded = way.stored.empty() ? Value() : loaded_by(way, instruction);
  InstructionEffects(values_, facts_, 0).execute(instruction, way.machine);
  if (loaded.known())
    way.machine.set_reg(*MachineState::number_of(instruction.operands[0].reg.value), loaded);
  else
    name_unknown(way, instruction);
  note_copied(way, instruction);
  if (instruction.raw.meta.category != ZYDIS_CATEGORY_CMOV) return;
  const auto to = MachineState::number_of(instruction.operands[0].reg.value);
  if (!to) return;
  Way moved = way;
  moved.machine.set_reg(*to, way.machine.read(instruction.operands[1], instruction.next()));
  enter(std::move(moved), instruction.next());
}

// A pointer out of an array of the function's own: whichever it is, it is the same until it is loaded again.
void KeepWalk::name_unknown(Way& way, const DecodedInstruction& instruction) {
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV || !is_memory(instruction.operands[1]) ||
      instruction.operands[0].size != 64)
    return;
  const auto to = MachineState::number_of(instruction.operands[0].reg.value);
  if (!to || way.machine.reg(*to).known()) return;
  const auto [named, added] = loads_.try_emplace(instruction.address);
  if (added) named->second = values_.fresh();
  forget(way, named->second.place);
  way.machine.set_reg(*to, named->second);
}

// In a later turn of a loop.
void KeepWalk::forget(Way& way, PlaceId place) {
  const auto is_of = [&](PlaceId one) { return values_.root({one, 0, true}).place == place; };
  std::erase_if(way.kept, [&](const auto& one) {
    if (!is_of(one.second.first.place)) return false;
    finish(way, one.first, one.second.first, one.second.second);
    return true;
  });
  std::erase_if(way.balances, [&](const auto& one) { return is_of(one.first); });
  std::erase_if(way.stored, [&](const auto& one) { return is_of(one.first); });
  std::erase_if(way.handed, [&](const auto& one) { return is_of(one.first); });
  for (std::set<PlaceId>* places : {&way.put, &way.given, &way.away}) std::erase_if(*places, is_of);
}

// What the way has stored there itself.
Value KeepWalk::loaded_by(Way& way, const DecodedInstruction& instruction) {
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV || !is_memory(instruction.operands[1]) ||
      !MachineState::number_of(instruction.operands[0].reg.value))
    return {};
  const Value address = way.machine.address_of(instruction.operands[1], instruction.next());
  const auto stored = address.known() ? way.stored.find(values_.content(address).place) : way.stored.end();
  return stored == way.stored.end() ? Value() : stored->second;
}

void KeepWalk::note_copied(Way& way, const DecodedInstruction& instruction) {
  if (instruction.raw.mnemonic != ZYDIS_MNEMONIC_MOV) return;
  const Value value = way.machine.read(instruction.operands[0], instruction.next());
  if (value.known() && value.offset == 0) way.copied[value.place] = instruction.address;
}

// clang has made tail calls under a condition since 16.
bool KeepWalk::leaves_if(const DecodedInstruction& instruction) const {
  const auto target = instruction.is_branch() ? instruction.branch_target() : std::nullopt;
  return target && !inside(*target);
}

void KeepWalk::branch(const Way& way, const DecodedInstruction& instruction, const Wanted& wanted) {
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  const auto when = [&](bool none) {
    Way other = way;
    if (none && way.tested.known()) other.balances[way.tested.place].none = true;
    return other;
  };
  const bool leaves = leaves_if(instruction);
  const auto target = instruction.branch_target();
  if (leaves) leave(when(mnemonic == ZYDIS_MNEMONIC_JZ), instruction, wanted);
  if (target && !leaves) enter(when(mnemonic == ZYDIS_MNEMONIC_JZ), *target);
  if (!leaves || inside(instruction.next())) enter(when(mnemonic == ZYDIS_MNEMONIC_JNZ), instruction.next());
}

void KeepWalk::enter(Way way, Address at) {
  std::vector<Way>& been = been_[at];
  if (!been.empty() && at <= way.at) {
    for (unsigned reg = 0; reg < 16; ++reg) {
      const Value now = way.machine.reg(reg);
      const Value first = been.front().machine.reg(reg);
      if (now.known() && now.place == first.place && now != first && !values_.is_stack(now))
        way.machine.set_reg(reg, {first.place, first.offset, false});
    }
  }
  way.at = at;
  if (std::any_of(been.begin(), been.end(), [&](const Way& other) { return other.same(way); })) return;
  if (been.size() >= kMostWays) {
    unread_ = true;
    if (at <= way.at) note_cut(way);
    return;
  }
  been.push_back(way);
  waiting_.push_back(std::move(way));
}

// By a tail call.
void KeepWalk::leave(Way way, const DecodedInstruction& instruction, const Wanted& wanted) {
  const auto entered = instruction.entered();
  const int by = change_(instruction.address, entered);
  note_kept(way, instruction, wanted);
  if (use_ != 0) note_use(way, instruction, by, true);
  note_change(way, instruction, by);
  if (wanted.returns && by > 0) note_returned(way);
  unread_ |= !entered;
  if (!entered) return;  // a switch's table, or a tail call through a pointer
  if (wanted.forgets && by == 0) note_passed(way, entered);
  if (wanted.follows_puts()) note_arguments(way, entered, wanted);
  if (put_ != 0) note_handed_over(way, instruction);
  finish(way);
}

void KeepWalk::step(Way way, const Wanted& wanted) {
  DecodedInstruction instruction;
  if (!read_instruction(module_, way.at, instruction)) {
    unread_ = true;
    return;
  }
  passed_.push_back({way.at, way.passed});
  way.passed = passed_.size();
  const auto target = instruction.branch_target();
  if (instruction.is_jump() && (!target || !inside(*target)))
    return leave(std::move(way), instruction, wanted);
  if (leaves_if(instruction)) return branch(way, instruction, wanted);
  const auto entered = instruction.is_call() ? instruction.entered() : std::nullopt;
  const bool asked = instruction.is_call() && instruction.next() == put_;
  const int change = change_(instruction.address, entered);
  // One through a pointer is a virtual one.
  const int by = change == 0 && asked && (!entered || called_.destroys(*entered)) ? -1 : change;
  if (use_ != 0) note_use(way, instruction, by, false);
  note_kept(way, instruction, wanted);
  note_change(way, instruction, by);
  if (called_.leaves) note_escaped(way, instruction);
  if (wanted.forgets && instruction.is_call() && by == 0) note_passed(way, entered);
  if (instruction.is_return()) return finish(way);
  if (instruction.is_jump()) return enter(std::move(way), *target);
  if (instruction.is_branch()) return branch(way, instruction, wanted);
  if (instruction.is_call()) {
    if (entered && called_.ends(*entered)) return;
    note_variables(way, instruction);
    if (wanted.follows_puts()) note_arguments(way, entered, wanted);
    if (put_ != 0) note_handed_over(way, instruction);
    if (!copies_.empty() && entered && called_.wipes(*entered))
      note_wiped(way, way.machine.reg(kEncodedArguments[0]));
    way.vectors.clear();
    return_from_call(way, instruction, by);
    if (wanted.follows_puts() && entered && called_.makes(*entered))
      made_.insert(result_values_.at(instruction.next()).place);
  } else {
    if (wanted.ends != nullptr || put_ != 0) note_content(way, instruction);
    execute(way, instruction);
  }
  if (instruction.falls_through() && inside(instruction.next())) enter(std::move(way), instruction.next());
}

// By a jump to what takes a reference.
void KeepWalk::note_returned(const Way& way) {
  Seen& seen = seen_[kReturn];
  seen.taken = true;
  add_passed(way, seen.taken_ways);
}

void KeepWalk::add_passed(const Way& way, std::set<Address>& ways) const {
  for (std::size_t at = way.passed; at != 0; at = passed_[at - 1].before) ways.insert(passed_[at - 1].at);
}

void KeepWalk::note_passed(Way& way, std::optional<Address> target) const {
  for (unsigned i = 0; i < kEncodedArguments.size(); ++i) {
    Value value = way.machine.reg(kEncodedArguments[i]);
    if (called_.leaves && values_.is_stack(value)) value = way.machine.load(value);  // a variable that has it
    if (!value.known() || (value.offset != 0 && !called_.leaves)) continue;
    const bool borrowed = called_.leaves && is_argument(value) && target && called_.leaves(*target, i + 1);
    if (!borrowed) way.away.insert(value.place);
  }
}

// By number of argument, where functions have no code.
void KeepWalk::note_forgotten(const Way& way) {
  for (unsigned number = 1; number <= ValueTable::kArguments; ++number) {
    const Value value = values_.argument(number);
    const auto found = way.balances.find(value.place);
    const Balance balance = found == way.balances.end() ? Balance() : found->second;
    if (balance.none) continue;
    Seen& seen = seen_[number];
    const bool gave = balance.left < 0;
    const bool away = way.away.contains(value.place) || way.machine.reg(0) == value;
    seen.gave |= gave;
    seen.away |= away;
    seen.others |= balance.taken > 0;
    if (!gave && !away && !seen.untaken) {
      seen.untaken = true;
      seen.value = value;
      seen.at = way.at;
      seen.passed = way.passed;
    }
    add_passed(way, gave || away ? seen.taken_ways : seen.untaken_ways);
  }
}

void KeepWalk::finish(const Way& way) {
  if (put_ != 0) return;
  if (forgets_) return note_forgotten(way);
  for (const auto& [place, replaced] : way.replaced) {
    if (!is_none(way, replaced.first)) drops_.try_emplace(place, replaced.second);
  }
  for (const auto& [place, kept] : way.kept) finish(way, place, kept.first, kept.second);
}

// At the end of a loop's turn, what has not taken a reference for what it keeps will hardly do so. Ways that
// were followed to their ends know better.
void KeepWalk::note_cut(const Way& way) {
  for (const auto& [place, kept] : way.kept) {
    const auto& [value, stored_at] = kept;
    const auto found = way.balances.find(value.place);
    const Balance balance = found == way.balances.end() ? Balance() : found->second;
    if (balance.taken != 0 || balance.none || values_.is_constant(value) || values_.is_stack(value)) continue;
    if (const Value from = values_.loaded_from(value); from.known() && way.put.contains(from.place)) continue;
    if (ended_places_.contains(place)) continue;
    Seen& seen = cut_[place];
    if (seen.value.known()) continue;
    seen.value = value;
    seen.stored_at = stored_at;
    seen.at = way.at;
    seen.passed = way.passed;
  }
}

void KeepWalk::finish(const Way& way, Address place, const Value& value, const Value& stored_at) {
  cut_.erase(place);
  ended_places_.insert(place);
  const auto found = way.balances.find(value.place);
  const Balance balance = found == way.balances.end() ? Balance() : found->second;
  if (balance.none || values_.is_constant(value) || values_.is_stack(value)) return;
  // The next one of a list is moved to where the one before it was, which is given back.
  const Value from = values_.loaded_from(value);
  const bool same_member = stored_at.known() && stored_at.offset == from.offset;
  if (from.known() && way.put.contains(from.place) && !same_member) return;
  Seen& seen = seen_[place];
  const bool untaken = balance.taken == 0;
  const bool undone = !untaken && balance.left <= 0;
  const bool first_untaken = untaken && !seen.untaken;
  if (first_untaken || (undone && !seen.value.known())) {
    seen.value = value;
    seen.stored_at = stored_at;
    seen.at = way.at;
  }
  seen.untaken_left |= untaken && balance.left >= 0;
  if (first_untaken) {
    seen.passed = way.passed;
    if (const auto copied = way.copied.find(value.place); copied != way.copied.end())
      seen.copied = copied->second;
  }
  seen.untaken |= untaken;
  seen.undone |= undone;
  seen.taken |= balance.left > 0;
  takes_for_argument_ |= balance.left > 0 && is_argument(value);
  add_passed(way, untaken ? seen.untaken_ways : seen.taken_ways);
}

// Itself, or what a call has made of it, as a get returns what it was given.
bool KeepWalk::is_argument(const Value& value) const {
  const auto asked = asked_.find(value.place);
  const Value& given = asked == asked_.end() ? value : asked->second;
  return values_.root_argument(given) != 0 && !values_.loaded_from(given).known();
}

void KeepWalk::run(const Wanted& wanted) {
  enter(Way(values_), ranges_.front().begin);
  for (std::size_t i = 0; i < kMostSteps && !waiting_.empty(); ++i) {
    Way way = std::move(waiting_.front());
    waiting_.pop_front();
    step(std::move(way), wanted);
  }
}

std::vector<KeepWalk::Kept> KeepWalk::untaken(const Wanted& wanted) {
  forgets_ = wanted.forgets;
  run(wanted);
  std::vector<Kept> found;
  for (const auto& [place, seen] : seen_) {
    if (forgets_ && (!seen.gave || !seen.away || seen.others)) continue;
    if (!seen.untaken && (!seen.undone || seen.taken)) {
      if (seen.taken) taken_.insert(place);
      continue;
    }
    if (auto kept = kept_of(place, seen)) found.push_back(std::move(*kept));
  }
  for (const auto& [place, seen] : cut_) {
    if (auto kept = kept_of(place, seen)) found.push_back(std::move(*kept));
  }
  return found;
}

std::optional<KeepWalk::Kept> KeepWalk::kept_of(Address place, const Seen& seen) const {
  Kept kept;
  kept.at = place == kReturn || forgets_ ? seen.at : place;
  kept.slot = slot_of(place, seen.stored_at);
  kept.held = held_at(place);
  kept.also_taken = seen.taken;
  kept.given_back = seen.untaken && !seen.untaken_left;
  set_origin(kept, seen.value);
  const Value variable = values_.loaded_from(seen.value);
  if (!results_.contains(seen.value.place) && values_.is_stack(variable)) {
    const auto fillers = fillers_.find(variable.offset);
    const bool none = fillers == fillers_.end();
    if (none ? variable.exact : fillers->second.size() != 1) return std::nullopt;
    if (!none) {
      kept.from = Origin::From::result;
      kept.behind = *fillers->second.begin();
      kept.filled = true;
    }
  }
  if (!seen.taken_ways.empty()) {
    std::set_difference(seen.untaken_ways.begin(), seen.untaken_ways.end(), seen.taken_ways.begin(),
                        seen.taken_ways.end(), std::back_inserter(kept.own));
  }
  for (std::size_t at = seen.passed; at != 0 && !kept.parted; at = passed_[at - 1].before) {
    if (seen.taken_ways.contains(passed_[at - 1].at)) kept.parted = passed_[at - 1].at;
  }
  const auto& own = kept.own;
  if (seen.copied && std::binary_search(own.begin(), own.end(), *seen.copied)) kept.copied = seen.copied;
  return kept;
}

Slot KeepWalk::slot_of(Address place, const Value& stored_at) const {
  Slot slot = stored_at.known() ? slot_at(values_, results_, stored_at) : Slot();
  if (const auto base = bases_.find(place); base != bases_.end()) slot.bases = base->second;
  slot.code = place;
  return slot;
}

std::vector<Slot> KeepWalk::drops(const std::set<Address>& stores) {
  Wanted wanted;
  wanted.places = stores;
  wanted.drops = true;
  run(wanted);
  std::vector<Slot> slots;
  for (const auto& [place, address] : drops_) slots.push_back(slot_of(place, address));
  return slots;
}

std::map<Address, KeepWalk::Ended> KeepWalk::left(const Ends& ends) {
  Wanted wanted;
  wanted.ends = &ends;
  run(wanted);
  return ended_;
}

ValuePlaces KeepWalk::held_at(Address place) const {
  const auto found = held_.find(place);
  return found == held_.end() ? ValuePlaces() : found->second;
}

std::optional<Address> KeepWalk::called_before(Address behind) const {
  const auto found = calls_.find(behind);
  return found == calls_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace refhist
