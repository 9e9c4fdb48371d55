#include "sites/counting_calls.h"

#include "x86/import_slots.h"
#include "x86/instruction.h"
#include "x86/known_functions.h"
#include "x86/value_trail.h"

namespace refhist {

namespace {

constexpr unsigned kDeepest = 3;      // calls: kref_put() -> refcount_dec_and_test() -> atomic_dec_return()
constexpr unsigned kMostPassed = 24;  // instructions up to the change, which stands at the beginning

}  // namespace

std::optional<CounterInstruction> CountingCalls::change_by(const DirectCall& call) {
  auto change = known_change(call);
  if (!change) change = change_of(call.target, 0);
  if (!change) return std::nullopt;
  CounterInstruction made;
  made.size = change->size;
  made.length = call.length;
  made.base = static_cast<std::uint8_t>(kRdi);
  made.address = call.address;
  made.constant = 1;
  made.negative = change->down;
  made.displacement = change->displacement;
  return made;
}

bool CountingCalls::is_probed(Address function) const {
  const auto symbol = module_.function_at(function);
  return symbol && family_.is_probed(symbol->name, demangle(symbol->name));
}

const std::string& CountingCalls::imported(Address target) {
  static const std::string kNone;
  if (!imports_) imports_ = read_import_slots(module_.path());
  const auto found = imports_->find(stub_slot(module_, target).value_or(target));
  return found == imports_->end() ? kNone : found->second;
}

std::optional<CountingCalls::Change> CountingCalls::known_change(const DirectCall& call) {
  const auto known = known_addition(imported(call.target));
  if (!known) return std::nullopt;
  const std::int64_t by = known->delta * (known->times_argument_2 ? call.second.value_or(0) : 1);
  if (by != 1 && by != -1) return std::nullopt;
  return Change{static_cast<std::uint8_t>(kRdi), 0, known->size, by < 0};
}

/// Up to the first branch: what stands behind one may not run.
std::optional<CountingCalls::Change> CountingCalls::change_of(Address function, unsigned depth) {
  if (depth == kDeepest || is_probed(function)) return std::nullopt;
  ValueTrail trail(static_cast<std::uint8_t>(kRdi));
  Address at = function;
  for (unsigned count = 0; count < kMostPassed; ++count) {
    DecodedInstruction instruction;
    if (!read_instruction(module_, at, instruction) || instruction.is_branch() || instruction.is_return() ||
        instruction.is_indirect_jump())
      return std::nullopt;
    if (auto change = change_at(instruction, trail, depth)) return change;
    trail.follow(instruction);
    at = instruction.is_jump() ? *instruction.branch_target() : instruction.next();
  }
  return std::nullopt;
}

/// Of memory that lies at a known distance from what the trail follows.
std::optional<CountingCalls::Change> CountingCalls::change_at(const DecodedInstruction& instruction,
                                                              const ValueTrail& trail, unsigned depth) {
  const auto target = instruction.is_call() ? instruction.branch_target() : std::nullopt;
  auto change = target ? change_of(*target, depth + 1) : change_by(instruction);
  const auto above = change ? trail.above(change->base) : std::nullopt;
  if (!above) return std::nullopt;
  change->displacement += *above;
  change->base = static_cast<std::uint8_t>(kRdi);
  return change;
}

std::optional<CountingCalls::Change> CountingCalls::change_by(const DecodedInstruction& instruction) {
  const Address at = instruction.address;
  const auto adds =
      CounterInstruction::of(instruction);  // asked first: to follow a whole function takes long
  if (!adds || adds->kind != CounterInstruction::Kind::add) return std::nullopt;
  for (const MemoryChange& change : changes_.around({at, instruction.next()})) {
    const CounterInstruction& made = change.instruction;
    const bool plain = made.base != CounterInstruction::kNoRegister &&
                       made.kind == CounterInstruction::Kind::add &&
                       made.index == CounterInstruction::kNoRegister && made.step() != 0;
    if (made.address == at && plain) return Change{made.base, made.displacement, made.size, made.step() < 0};
  }
  return std::nullopt;
}

}  // namespace refhist
