// Breakpoints of ours at the lines of functions, and at other addresses, while something is followed.
#pragma once

#include <set>
#include <string>

#include "session/session_state.h"

namespace refhist {

class ArmedLines {
 public:
  explicit ArmedLines(SessionState& state) : state_(&state) {}

  /// At each statement of the function that the address is in; returns where that begins. Throws Error when
  /// it has no lines, or too many. `name`: of the function, for messages.
  Address arm_function(DebuggerPort& port, const LoadedModule& loaded, Address inside,
                       const std::string& name);
  /// Not where code of ours stands.
  void arm(DebuggerPort& port, Address address);
  void disarm(DebuggerPort& port);
  [[nodiscard]] bool contains(Address address) const { return armed_.contains(address); }

 private:
  SessionState* state_;
  std::set<Address> armed_;
};

}  // namespace refhist
