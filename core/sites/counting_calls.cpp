#include "sites/counting_calls.h"

#include <array>

#include "x86/value_trail.h"

namespace refhist {

namespace {

constexpr unsigned kDeepest = 3;      // calls: kref_put() -> refcount_dec_and_test() -> atomic_dec_return()
constexpr unsigned kMostPassed = 24;  // instructions up to the change, which stands at the beginning
constexpr std::size_t kBytes = 15;    // of the longest instruction

}  // namespace

std::optional<CounterInstruction> CountingCalls::change_by(const DirectCall& call) {
  const auto change = change_of(call.target, 0);
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

std::optional<CountingCalls::Change> CountingCalls::change_of(Address function, unsigned depth) {
  if (depth == kDeepest) return std::nullopt;
  const auto known = known_.find(function);
  if (known != known_.end()) return known->second;
  known_[function] = std::nullopt;  // of what calls itself
  return known_[function] = read(function, depth);
}

/// Up to the first branch: what stands behind one may not run.
std::optional<CountingCalls::Change> CountingCalls::read(Address function, unsigned depth) {
  const InstructionDecoder decoder;
  ValueTrail trail(static_cast<std::uint8_t>(kRdi));
  Address at = function;
  for (unsigned count = 0; count < kMostPassed; ++count) {
    std::array<std::uint8_t, kBytes> bytes{};
    DecodedInstruction instruction;
    const bool read = module_.read_code(at, bytes.data(), bytes.size()) &&
                      decoder.decode(CodeRange{at, bytes}, at, instruction);
    if (!read || instruction.is_branch() || instruction.is_return() || instruction.is_indirect_jump())
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
