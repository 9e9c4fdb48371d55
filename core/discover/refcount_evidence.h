// Whether the code of two functions bears out that one takes a reference and the other gives it back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "families/family.h"
#include "x86/code_walker.h"

namespace refhist {

/// Facts of one function together with the values that they speak of.
struct WalkedFunction {
  ValueTable values;
  FunctionFacts facts;
};

/// The counter that both functions change, as seen from the object.
struct CounterEvidence {
  unsigned get_argument = 1;  ///< which argument is the object
  unsigned put_argument = 1;
  bool put_indirect = false;  ///< the put is handed a pointer to the object's pointer, to clear it
  std::int64_t offset = 0;    ///< from the object; negative in front of it, as in GLib's rc boxes
  std::int64_t step = 1;      ///< what the get adds; negative for a counter that counts down
  std::uint8_t size = 4;
  bool place_known_in_put = true;  ///< false: the put computes the counter's place from tables
  std::string what;                ///< "get adds 1 to [arg1+4], put subtracts 1"
};

/// Fills in where it is and how it counts.
void set_place(const CounterEvidence& counter, CounterSpec& spec);

/// A counter that is a bit-field of the type goes by its path from then on: its neighbours in the word are no
/// references. False where it lies in one that does not begin at the bit from which `spec` counts.
bool name_bit_field(const Module& module, const std::string& type, CounterSpec& spec);

/// Nothing when the code does not look like a get and its put. `strong` says that the names leave no doubt;
/// other names ("get", "acquire") are also those of hash tables and locks, so there the put must give the
/// object back.
std::optional<CounterEvidence> find_counter(const WalkedFunction& get, const WalkedFunction& put,
                                            bool strong);

/// All counters that fit, the likeliest first; each place once.
std::vector<CounterEvidence> find_counters(const WalkedFunction& get, const WalkedFunction& put, bool strong);

/// True when the function can do to its argument `argument` what the counter's get does.
bool changes_counter(const WalkedFunction& function, unsigned argument, const CounterEvidence& counter);
/// 1 or 0 where the function stores that at the counter of its argument 1: an initialiser.
std::optional<std::int64_t> count_set(const WalkedFunction& function, const CounterEvidence& counter);
/// When all that the function returns is new, because 1 is stored at the counter of it: how deep in the
/// functions that it calls, 0 for itself. NULL may be returned, too.
std::optional<unsigned> depth_of_birth(const WalkedFunction& function, const CounterEvidence& counter);
/// False when all that the function returns is its arguments and constants.
bool may_return_new_object(const WalkedFunction& function);

}  // namespace refhist
