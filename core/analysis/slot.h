// How a function's code comes to a place in memory where a pointer lies.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "symbols/module.h"
#include "x86/machine_state.h"

namespace refhist {

/// How the function's code comes to the place in memory where a pointer lies.
struct Slot {
  enum class From : std::uint8_t { unknown, argument, result, global };
  From from = From::unknown;
  unsigned argument = 0;  ///< 1-based
  Address behind = 0;     ///< of a result: where its call returns to
  /// From there to the place, one for each step: {16} is 16 bytes behind it, {16, 8} 8 bytes behind what is
  /// found there. Of a global variable the first one is an address in the file.
  std::vector<std::int64_t> steps;
  bool exact = true;               ///< false: an unknown index was added
  Address code = 0;                ///< the instruction that loads from there, or stores
  std::vector<ValuePlaces> bases;  ///< what has, right before that, what each of the steps counts from
  bool on_some_paths = false;      ///< the function may also leave without having stored the pointer there
};

/// Where the calls return to that values are results of.
using CallResults = std::map<PlaceId, Address>;

/// Of an address that the function's code has.
Slot slot_at(const ValueTable& values, const CallResults& results, const Value& address);
/// Of a variable that points behind what has it: that this is among the places.
bool is_held(const LocalPointer& variable, const ValuePlaces& places);
/// Slot::bases.
std::vector<ValuePlaces> bases_of(const ValueTable& values, const MachineState& state, Value address);

}  // namespace refhist
