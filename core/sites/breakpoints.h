// The breakpoints that are in the program on our account: one for each address, however many reasons.
#pragma once

#include <unordered_map>

#include "port/debugger_port.h"

namespace refhist {

class Breakpoints {
 public:
  /// One more reason to stop at the address. False when the debugger refused the breakpoint.
  bool arm(DebuggerPort& port, Address address);
  /// One reason less; the last one takes the breakpoint out.
  void disarm(DebuggerPort& port, Address address);
  /// The breakpoint's code is gone (module unmapped): takes it out whatever the reasons.
  void drop(DebuggerPort& port, Address begin, Address end);
  void disarm_all(DebuggerPort& port);
  /// The process is gone and its breakpoints with it: nothing is left to take out.
  void forget() { reasons_.clear(); }

  [[nodiscard]] bool armed(Address address) const { return reasons_.contains(address); }
  [[nodiscard]] std::size_t size() const { return reasons_.size(); }
  /// How many breakpoints were removed or switched off by somebody else.
  [[nodiscard]] std::size_t count_lost(DebuggerPort& port) const;

 private:
  std::unordered_map<Address, int> reasons_;
};

}  // namespace refhist
