#include "x86/value_table.h"

#include <algorithm>

namespace refhist {
namespace {

constexpr std::size_t kStackPlace = ValueTable::kArguments;
constexpr std::size_t kConstantPlace = ValueTable::kArguments + 1;

}  // namespace

ValueTable::ValueTable() {
  for (unsigned number = 1; number <= kArguments; ++number) places_.push_back({Value{}, number});
  places_.resize(kConstantPlace + 1);
}

Value ValueTable::argument(unsigned number) const { return {PlaceId(std::size_t{number - 1}), 0, true}; }

Value ValueTable::stack() const { return {PlaceId(kStackPlace), 0, true}; }

Value ValueTable::constant(std::int64_t value) const { return {PlaceId(kConstantPlace), value, true}; }

Value ValueTable::fresh() {
  places_.emplace_back();
  return {PlaceId(places_.size() - 1), 0, true};
}

Value ValueTable::content(const Value& address) {
  if (!address.known()) return {};
  const auto key = std::make_tuple(address.place.value, address.offset, address.exact);
  const auto [entry, missing] = contents_.try_emplace(key);
  if (missing) {
    places_.push_back({address, 0});
    entry->second = PlaceId(places_.size() - 1);
  }
  return {entry->second, 0, true};
}

bool ValueTable::is_constant(const Value& value) const {
  return value.known() && value.place.index() == kConstantPlace && value.exact;
}

bool ValueTable::is_stack(const Value& value) const {
  return value.known() && value.place.index() == kStackPlace;
}

bool ValueTable::is_content_of(const Value& value, const Value& address) const {
  return value.known() && value.exact && address.known() && places_[value.place.index()].address == address;
}

Value ValueTable::loaded_from(const Value& value) const {
  return value.known() ? places_[value.place.index()].address : Value{};
}

Value ValueTable::root(const Value& value) const {
  Value at = value;
  while (at.known() && places_[at.place.index()].address.known()) at = places_[at.place.index()].address;
  return at;
}

unsigned ValueTable::root_argument(const Value& value) const {
  const Value at = root(value);
  return at.known() ? places_[at.place.index()].argument : 0;
}

std::vector<std::int64_t> ValueTable::path(const Value& value) const {
  std::vector<std::int64_t> steps;
  for (Value at = value; at.known(); at = places_[at.place.index()].address) steps.push_back(at.offset);
  std::reverse(steps.begin(), steps.end());
  return steps;
}

}  // namespace refhist
