// Walks the machine code of a function along its branches and calls and notes what it does to memory that is
// reached from its arguments: which counters it changes and by how much, and what it passes on to which
// calls.
//
// It answers "can this body add one to [argument + 4]?", not "will it": both sides of a branch are taken,
// each instruction at most twice in one activation, calls are followed a few levels deep with the values that
// are passed, and there is a bound on the whole. What it cannot follow (indirect calls, vector registers,
// memory other than the stack that was written before) is unknown, so a fact that is reported was seen in the
// code, and a fact that is missing may still be true.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/function_index.h"
#include "probes/value_table.h"

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
};

struct FunctionFacts {
  std::vector<CounterChange> changes;
  std::vector<CallFact> calls;
  std::vector<ConstantStore> stores;  ///< of 1 and 0, as constructors do
  std::vector<Value> results;         ///< what is returned, one for each way out
};

class CodeWalker {
 public:
  explicit CodeWalker(const FunctionIndex& index) : index_(index) {}

  /// Values in the facts belong to `values`.
  FunctionFacts walk(const CodePlace& function, ValueTable& values) const;

 private:
  const FunctionIndex& index_;
};

}  // namespace refhist
