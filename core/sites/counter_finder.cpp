#include "sites/counter_finder.h"

#include <map>

namespace refhist {

namespace {

bool can_change(const CounterInstruction& change, Role role, std::uint32_t counter_size) {
  const bool stores = change.kind == CounterInstruction::Kind::store;
  const bool fits = stores ? change.size >= counter_size : change.size == counter_size;
  return fits && (role == Role::init ? stores : !change.opaque);
}

}  // namespace

std::vector<CounterInstruction> CounterFinder::find(const InlinedCopy& copy, Role role) {
  std::map<Address, CounterInstruction> found;
  for (const FileRange& range : copy.ranges) {
    for (const MemoryChange& change : changes_.around(range)) {
      CounterInstruction instruction = change.instruction;
      if (instruction.address < range.begin || instruction.address >= range.end) continue;
      if (!can_change(instruction, role, counter_.size)) continue;
      const auto within = counter_in(change);
      if (!within) continue;
      instruction.within = *within;
      found.emplace(instruction.address, instruction);
    }
  }
  std::vector<CounterInstruction> instructions;
  for (const auto& [address, instruction] : found) instructions.push_back(instruction);
  return instructions;
}

std::optional<std::uint8_t> CounterFinder::counter_in(const MemoryChange& change) const {
  const CounterInstruction& instruction = change.instruction;
  if (instruction.base == CounterInstruction::kNoRegister) {
    const bool known = is_variable(static_cast<Address>(instruction.displacement));
    return known ? std::optional<std::uint8_t>(0) : std::nullopt;
  }
  const auto offset = static_cast<std::int64_t>(counter_.offset);
  for (const std::int64_t moved : {std::int64_t{0}, change.distance.value_or(0)}) {
    const std::int64_t within = offset - (instruction.displacement + moved);
    if (within >= 0 && within + counter_.size <= instruction.size) return static_cast<std::uint8_t>(within);
  }
  return std::nullopt;
}

/// The symbol of a variable that is such an object covers its counter and what lies before that.
bool CounterFinder::is_variable(Address counter) const {
  const auto symbol = module_.data_symbol_at(counter);
  return counter_.offset != 0 && symbol && counter - symbol->address >= counter_.offset;
}

}  // namespace refhist
