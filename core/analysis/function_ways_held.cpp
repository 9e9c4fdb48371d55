#include <algorithm>

#include "analysis/function_ways.h"

// Where the pointer lies that a reference is taken or given back by.
namespace refhist {

Held FunctionWays::held(Address at, CallDoes does) {
  const auto here = [at, this](Address one, Address next, std::optional<Address>) {
    DecodedInstruction before;
    return one == at || (next == at && read_instruction(*code_.module, one, before) && before.is_call());
  };
  names_slot_ = true;
  if (!read(here, [](Address) { return false; })) return Held::unknown;
  return does == CallDoes::give_back ? from_where() : kept_where(at, does);
}

Held FunctionWays::from_where() {
  if (!reference_.known() || reference_.offset != 0 || values_.is_stack(reference_)) return Held::unknown;
  if (results_.contains(reference_.place)) return Held::local;
  const Value address = values_.loaded_from(reference_);
  if (address.known() && values_.is_stack(address)) return Held::local;
  if (address.known()) {
    slot_ = slot_at(values_, results_, address);
    if (const auto base = bases_.find(reference_.place); base != bases_.end())
      std::tie(slot_.code, slot_.bases) = base->second;
    return Held::memory;
  }
  return values_.root_argument(reference_) != 0 ? Held::argument : Held::unknown;
}

Held FunctionWays::kept_where(Address at, CallDoes does) {
  const bool made = does == CallDoes::make;
  if (!made && !reference_.known()) return Held::unknown;
  const auto is_it = [&](const Value& value) {
    if (!value.known()) return false;
    const auto result = results_.find(value.place);
    return (!made && value == reference_) ||
           (value.offset == 0 && result != results_.end() && result->second == at);
  };
  bool passed = false;
  std::set<Address> stores;
  for (const auto& [place, step] : steps_) {
    if (!is_it(step.stored)) {
      passed |= is_it(step.returned);
      passed |= !step.gives && std::any_of(step.passed.begin(), step.passed.end(),
                                           [&](const auto& one) { return is_it(one.second); });
      continue;
    }
    if (stores.empty()) {
      slot_ = slot_at(values_, results_, step.stored_at);
      slot_.code = place;
      slot_.bases = step.stored_bases;
    }
    stores.insert(place);
  }
  if (stores.empty()) return passed ? Held::unknown : Held::local;
  slot_.on_some_paths = leaves_without(at, stores);
  return Held::memory;
}

bool FunctionWays::leaves_without(Address at, const std::set<Address>& stores) const {
  std::vector<Address> waiting{at};
  std::set<Address> seen{at};
  while (!waiting.empty()) {
    const auto found = steps_.find(waiting.back());
    waiting.pop_back();
    if (found == steps_.end() || stores.contains(found->first)) continue;
    const Step& step = found->second;
    if (step.leaves) return true;
    for (const Address next : step.next) {
      if (next != step.none && seen.insert(next).second) waiting.push_back(next);
    }
  }
  return false;
}

}  // namespace refhist
