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

#include "x86/function_facts.h"
#include "x86/function_index.h"

namespace refhist {

class CodeWalker {
 public:
  explicit CodeWalker(const FunctionIndex& index) : index_(index) {}

  /// Values in the facts belong to `values`.
  FunctionFacts walk(const CodePlace& function, ValueTable& values) const;

 private:
  const FunctionIndex& index_;
};

}  // namespace refhist
