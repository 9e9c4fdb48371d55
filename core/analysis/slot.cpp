#include "analysis/slot.h"

#include <algorithm>

namespace refhist {

Slot slot_at(const ValueTable& values, const CallResults& results, const Value& address) {
  const Value root = values.root(address);
  if (!root.known()) return {};
  Slot slot;
  slot.steps = values.path(address);
  slot.exact = address.exact;
  const auto result = results.find(root.place);
  if (result != results.end()) {
    slot.from = Slot::From::result;
    slot.behind = result->second;
  } else if (values.is_constant({root.place, 0})) {
    slot.from = Slot::From::global;
  } else if (slot.argument = values.root_argument(root); slot.argument != 0) {
    slot.from = Slot::From::argument;
  }
  return slot;
}

bool is_held(const LocalPointer& variable, const ValuePlaces& places) {
  const auto has = [](const auto& all, auto place) {
    return std::find(all.begin(), all.end(), place) != all.end();
  };
  if (variable.at_entry) return false;
  return variable.reg ? has(places.registers, *variable.reg) : has(places.stack, variable.stack);
}

std::vector<ValuePlaces> bases_of(const ValueTable& values, const MachineState& state, Value address) {
  std::vector<ValuePlaces> bases;
  for (; address.known(); address = values.loaded_from({address.place, 0}))
    bases.push_back(state.places_of({address.place, 0}));
  std::reverse(bases.begin(), bases.end());
  return bases;
}

}  // namespace refhist
