// What the walk through a function's code has found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "x86/value_table.h"

namespace refhist {

struct CounterChange {
  Value cell;  ///< address of the counter
  std::int64_t delta = 0;
  std::uint8_t size = 4;  ///< bytes
  unsigned depth = 0;     ///< 0: in the function itself; 1: in a function it calls; …
};

struct CallFact {
  std::string callee;       ///< empty: without a name
  bool indirect = false;    ///< called through a pointer
  Value first;              ///< argument 1
  bool used_after = false;  ///< argument 1 was used again after the call returned
  unsigned depth = 0;
};

struct ConstantStore {
  Value cell;
  std::int64_t value = 0;
  std::uint8_t size = 4;
  unsigned depth = 0;    ///< as of a CounterChange
  bool further = false;  ///< and behind it as well, how far is not known: of memory that is cleared
};

struct FunctionFacts {
  std::vector<CounterChange> changes;
  std::vector<CallFact> calls;
  std::vector<ConstantStore> stores;  ///< as constructors do
  std::vector<Value> results;         ///< what is returned, one for each way out
};

}  // namespace refhist
