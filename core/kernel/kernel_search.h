// Where the kernel of a guest lies: its build id is looked for at each place where it may have been put
// (KASLR).
#pragma once

#include "port/debugger_port.h"
#include "symbols/module.h"

namespace refhist {

class KernelSearch {
 public:
  KernelSearch(DebuggerPort& port, const Module& module) : port_(port), module_(module) {}

  /// What is added to the file's addresses; `told` is tried first. Throws Error, one line that says what to
  /// do: nothing of a kernel is in memory, or another build is.
  [[nodiscard]] Address bias(Address told);
  /// Is the very build of the file there?
  [[nodiscard]] bool is_at(Address bias);

 private:
  /// "Linux version …" of whatever kernel lies from there on; empty when none is found.
  [[nodiscard]] std::string banner_from(Address begin);
  [[noreturn]] void tell_other(Address begin);

  DebuggerPort& port_;
  const Module& module_;
};

}  // namespace refhist
