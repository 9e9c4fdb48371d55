// What LLDB's expressions leave in the program's memory.
//
// LLDB's compiler works with memory that it allocates in the program, and keeps values there: variables that
// live in registers, intermediate results, results. What it has given back it does not erase, so a pointer
// there would look as if the program still held it, and a leak would be hidden. Results that have a name ($0)
// are not given back; those do count.
#pragma once

#include <lldb/API/LLDB.h>

namespace refhist {

class ExpressionLeftovers {
 public:
  /// An expression has been evaluated, or is about to be.
  void expect() { expected_ = true; }
  /// Erases what is left, if anything is expected. Only while the process is stopped for the user.
  void erase(lldb::SBProcess& process);

 private:
  bool expected_ = false;
};

}  // namespace refhist
