#include "sites/counter_finder.h"

#include <algorithm>

#include "families/function_pattern.h"
#include "x86/code_ways.h"

namespace refhist {

namespace {

bool lies_in(const std::vector<FileRange>& ranges, Address address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const FileRange& range) { return range.contains(address); });
}

const std::vector<ParameterValue>& values_of(const InlinedCopy& copy, const ObjectSource& object) {
  static const std::vector<ParameterValue> kNone;
  const bool direct = object.from == ObjectSource::From::argument && !object.indirect;
  return direct && object.argument <= copy.parameters.size() ? copy.parameters[object.argument - 1] : kNone;
}

}  // namespace

bool CounterFinder::fits(const CounterInstruction& change, Role role) const {
  if (change.kind == CounterInstruction::Kind::last) {
    const std::int64_t references =
        family_.counter.scale * (change.constant >> family_.counter.shift) + family_.counter.bias;
    return role == Role::put && references == 1 && change.size <= counter_.size && counter_.bits == 0;
  }
  const bool stores = change.kind == CounterInstruction::Kind::store;
  // What sets a counter to a known number may set its neighbours as well. What stores a wider register is
  // another pointer or number.
  const bool known = role == Role::init || change.source == CounterInstruction::kNoRegister;
  const bool whole = stores && known ? change.size >= counter_.size : change.size == counter_.size;
  const bool steps = change.steps_low_part(counter_.size) || change.steps_wider(counter_.size);
  if (role != Role::init && counter_.bits == 0 && steps) return true;
  return whole && (role == Role::init ? stores : !change.opaque);
}

bool CounterFinder::does_it_alone(const CounterInstruction& change, Role role) const {
  const CounterSpec& spec = family_.counter;
  const bool plain = spec.scale == 1 && spec.shift == 0 && spec.bias == 0 && counter_.bits == 0;
  const bool through_register =
      change.base != CounterInstruction::kNoRegister && change.index == CounterInstruction::kNoRegister;
  const bool wider = role != Role::init && change.steps_wider(counter_.size);
  if (!plain || !through_register || (change.size != counter_.size && !wider)) return false;
  if (role == Role::init)
    return change.kind == CounterInstruction::Kind::store && !change.opaque &&
           change.source == CounterInstruction::kNoRegister && change.constant == family_.born &&
           family_.born > 0;
  return change.kind == CounterInstruction::Kind::add && change.step() == direction(role);
}

bool CounterFinder::is_all_of_get(const CounterInstruction& change, const FileRange& copy, Role role) const {
  if (role != Role::get || change.length != copy.end - copy.begin) return false;
  const bool known = change.kind == CounterInstruction::Kind::store && !change.opaque &&
                     change.source == CounterInstruction::kNoRegister && change.constant > 0 &&
                     change.size == counter_.size && counter_.bits == 0;
  return known || does_it_alone(change, role);
}

// Of a loop that was unrolled, debug information may tell of one turn alone where the object is.
bool CounterFinder::is_like(const CounterInstruction& change, const InlinedCopy& copy,
                            const std::map<Address, CounterInstruction>& told) {
  const auto part = std::find_if(copy.ranges.begin(), copy.ranges.end(),
                                 [&](const FileRange& range) { return range.contains(change.address); });
  return std::any_of(told.begin(), told.end(), [&](const auto& one) {
    const CounterInstruction& other = one.second;
    return part != copy.ranges.end() && !part->contains(other.address) && other.kind == change.kind &&
           other.size == change.size && other.step() == change.step() &&
           other.displacement == change.displacement;
  });
}

std::vector<CounterInstruction> CounterFinder::find(const InlinedCopy& copy, Role role,
                                                    const ObjectSource& object,
                                                    const std::vector<FileRange>& inner) {
  std::map<Address, CounterInstruction> found;
  std::map<Address, CounterInstruction> low_parts;  // the counter only where nothing changes all of it
  std::map<Address, MemoryChange> tests;
  std::vector<CounterInstruction> untold;  // of which nothing tells what memory they change
  bool one_each = true;                    // in each part of the copy: the parts do the same on several ways
  bool nothing_else = true;                // of the counter's size is changed in any of them
  const std::vector<ParameterValue>& values = values_of(copy, object);
  for (const FileRange& range : copy.ranges) {
    const std::size_t before = untold.size();
    for (const MemoryChange& change : changes_.around(range)) {
      MemoryChange kept = change;
      CounterInstruction& instruction = kept.instruction;
      // A copy may begin behind what it compares.
      if (!range.contains(instruction.address) && !range.contains(change.zero_side)) continue;
      if (lies_in(inner, instruction.address)) continue;
      const bool alone = does_it_alone(instruction, role) || is_all_of_get(instruction, range, role);
      nothing_else &= alone || instruction.size != counter_.size;
      if (!fits(instruction, role)) continue;
      const auto within = counter_in(change, values);
      if (!within && alone) untold.push_back(instruction);
      if (!within) continue;
      instruction.within = *within;
      if (instruction.kind == CounterInstruction::Kind::last) {
        tests.emplace(instruction.address, kept);
      } else {
        (instruction.size < counter_.size ? low_parts : found).emplace(instruction.address, instruction);
      }
    }
    one_each &= untold.size() <= before + 1;
  }
  if (found.empty()) found = std::move(low_parts);
  // The function changes the counter, and its copy changes nothing else that may be it. Elsewhere than at the
  // object's beginning, the operand's displacement would tell.
  const bool none = found.empty() && tests.empty() && (!values.empty() || nothing_else);
  if (counter_.offset == 0 && one_each) {
    std::erase_if(untold, [&](const auto& change) { return !none && !is_like(change, copy, found); });
    for (const CounterInstruction& change : untold) found.emplace(change.address, change);
  }
  if (found.empty() && tests.empty()) add_calls(copy, role, values, found);
  // A copy whose object nobody looks at again may store nothing at all. At the object's beginning, nothing
  // but a change tells that it is the counter.
  if (!found.empty() || counter_.offset != 0) add_tests(copy, tests, found);
  std::vector<CounterInstruction> instructions;
  for (const auto& [address, instruction] : found) instructions.push_back(instruction);
  return instructions;
}

std::optional<CounterInstruction> CounterFinder::by_displacement(const MemoryChange& change,
                                                                 Role role) const {
  const auto within = fits(change.instruction, role) ? counter_in(change) : std::nullopt;
  if (!within) return std::nullopt;
  CounterInstruction counting = change.instruction;
  counting.within = *within;
  return counting;
}

void CounterFinder::add_calls(const InlinedCopy& copy, Role role, const std::vector<ParameterValue>& object,
                              std::map<Address, CounterInstruction>& found) {
  if (role != Role::get && role != Role::put) return;
  for (const FileRange& range : copy.ranges) {
    for (const DirectCall& call : changes_.calls_around(range)) {
      const auto change = range.contains(call.address) ? helpers_.change_by(call) : std::nullopt;
      if (!change || !fits(*change, role) || change->step() != direction(role)) continue;
      const auto within = counter_in({*change, call.distance, std::nullopt, std::nullopt}, object);
      if (!within) continue;
      found.emplace(call.address, *change).first->second.within = *within;
    }
  }
}

bool CounterFinder::leads_to_put(const DecodedInstruction& instruction) const {
  const bool leads = instruction.is_call() || instruction.is_jump();
  const auto target = leads ? instruction.branch_target() : std::nullopt;
  const auto function = target ? module_.function_at(*target) : std::nullopt;
  return function && function->address == *target &&
         family_.is_probed(function->name, demangle(function->name), Role::put);
}

// Those behind which nothing in the copy changes the counter, before it is tested once more.
void CounterFinder::add_tests(const InlinedCopy& copy, const std::map<Address, MemoryChange>& tests,
                              std::map<Address, CounterInstruction>& found) const {
  const std::map<Address, CounterInstruction> changes = found;
  for (const auto& [address, test] : tests) {
    CodeWays ways(module_, copy.ranges);
    const bool changed = ways.any_from(test.zero_side, [&](const DecodedInstruction& instruction) {
      if (tests.contains(instruction.address)) return CodeWays::Answer::no_further;
      const bool change = changes.contains(instruction.address) || leads_to_put(instruction);
      return change ? CodeWays::Answer::found : CodeWays::Answer::go_on;
    });
    if (!changed) found.emplace(address, test.instruction);
  }
}

std::optional<std::uint8_t> CounterFinder::counter_in(const MemoryChange& change,
                                                      const std::vector<ParameterValue>& object) const {
  if (const auto within = counter_in(change)) return within;
  if (const auto within = counter_in(change.instruction, change.distance, object)) return within;
  for (const ParameterValue& value : object) {
    if (const auto within = counter_behind_slot(change, value)) return within;
  }
  return std::nullopt;
}

std::optional<std::uint8_t> CounterFinder::counter_behind_slot(const MemoryChange& change,
                                                               const ParameterValue& value) const {
  const CounterInstruction& instruction = change.instruction;
  if (!value.slot || !change.base || instruction.index != CounterInstruction::kNoRegister ||
      !value.range.contains(instruction.address))
    return std::nullopt;
  std::int64_t slot = *value.slot;
  unsigned reg = value.reg.value_or(0);
  if (!value.reg) {
    const UnwindRule* rule = module_.unwind_rule(instruction.address);
    if (rule == nullptr || rule->cfa_by_expression) return std::nullopt;
    reg = rule->cfa_register;
    slot += rule->cfa_offset;
  }
  if (change.base->base != reg || change.base->displacement != slot) return std::nullopt;
  const auto offset = static_cast<std::int64_t>(counter_.offset);
  return at_distance(instruction, value.offset - change.base->added + offset - instruction.displacement);
}

std::optional<std::uint8_t> CounterFinder::counter_in(const MemoryChange& change) const {
  const CounterInstruction& instruction = change.instruction;
  if (instruction.base == CounterInstruction::kNoRegister) {
    const bool known = is_variable(static_cast<Address>(instruction.displacement));
    return known ? std::optional<std::uint8_t>(0) : std::nullopt;
  }
  const auto offset = static_cast<std::int64_t>(counter_.offset);
  const std::int64_t distance = change.distance.value_or(0);
  // At the object's beginning, nothing tells the counter from what another pointer points at.
  for (const std::int64_t moved : {offset == 0 ? distance : 0, distance}) {
    if (const auto within = at_distance(instruction, offset - moved - instruction.displacement))
      return within;
  }
  return std::nullopt;
}

std::optional<std::uint8_t> CounterFinder::counter_in(const CounterInstruction& instruction,
                                                      const std::optional<std::int64_t>& distance,
                                                      const std::vector<ParameterValue>& object) const {
  if (instruction.index != CounterInstruction::kNoRegister) return std::nullopt;
  const auto offset = static_cast<std::int64_t>(counter_.offset);
  for (const ParameterValue& value : object) {
    auto base = from_base(instruction, value);
    // Another register was made from the object's address: as far from the one that it was made from as the
    // debug information says that the object is.
    const bool as_far = distance && *distance != 0 && *distance == value.offset && value.reg && !value.slot &&
                        value.range.contains(instruction.address);
    if (!base && as_far) base = 0;
    const auto within =
        base ? at_distance(instruction, *base + offset - instruction.displacement) : std::nullopt;
    if (within) return within;
  }
  return std::nullopt;
}

std::optional<std::int64_t> CounterFinder::from_base(const CounterInstruction& instruction,
                                                     const ParameterValue& value) const {
  const bool absolute = instruction.base == CounterInstruction::kNoRegister;
  const bool now = instruction.address >= value.range.begin && instruction.address < value.range.end;
  if (value.slot || absolute == value.reg.has_value()) return std::nullopt;
  if (absolute) return now ? std::optional(value.offset) : std::nullopt;
  if (now && *value.reg == instruction.base) return value.offset;
  if (value.range.begin <= instruction.address) return std::nullopt;
  // clang tells where the object is only from where its pointer is needed again, which may be behind the
  // change.
  const auto above = changes_.above_at(instruction, *value.reg, value.range.begin);
  return above ? std::optional(*above + value.offset) : std::nullopt;
}

std::optional<std::uint8_t> CounterFinder::at_distance(const CounterInstruction& instruction,
                                                       std::int64_t distance) const {
  const bool low_part = distance == 0 && instruction.steps_low_part(counter_.size);
  // What steps a wider number carries into its high part, but does not count there.
  const bool high_part = distance != 0 && instruction.steps_wider(counter_.size);
  const bool inside =
      low_part || (!high_part && distance >= 0 && distance + counter_.size <= instruction.size);
  return inside ? std::optional(static_cast<std::uint8_t>(distance)) : std::nullopt;
}

/// The symbol of a variable that is such an object covers its counter and what lies before that.
bool CounterFinder::is_variable(Address counter) const {
  const auto symbol = module_.data_symbol_at(counter);
  return counter_.offset != 0 && symbol && counter - symbol->address >= counter_.offset;
}

}  // namespace refhist
