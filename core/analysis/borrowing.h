// Whether a function that is passed a reference leaves it with its caller: it neither keeps the pointer, nor
// passes it on to what may do so, nor returns it. Read from its code, and of libraries told by their names.
#pragma once

#include <map>
#include <tuple>

#include "x86/code_graph.h"

namespace refhist {

class Borrowing {
 public:
  explicit Borrowing(CodeGraph& graph) : graph_(graph) {}

  /// Of what a call to `target` enters, an address in the module's file. `argument`: its number (1-based).
  bool leaves(const Module& module, Address target, unsigned argument);

 private:
  bool leaves(const CodeGraph::Function& function, unsigned argument);
  bool read(const CodeGraph::Function& function, unsigned argument);

  CodeGraph& graph_;
  using Asked = std::tuple<const Module*, Address, unsigned>;
  std::map<Asked, bool> known_;   // by function
  std::map<Asked, bool> called_;  // by what calls to it name
  std::size_t steps_ = 0;
  int depth_ = 0;         // of functions that are being read
  bool limited_ = false;  // the answer was given up for that
};

}  // namespace refhist
