// All code addresses at which the program has to report to us, as locations of one LLDB breakpoint: so
// they use up one breakpoint number, and not one for each function and return address.
//
// Only a breakpoint with a scripted resolver takes locations one by one. A resolver class that does not
// exist finds no locations of its own, so it needs no script interpreter, and AddLocation adds ours.
#pragma once

#include <lldb/API/LLDB.h>

#include <unordered_map>

#include "base/types.h"

namespace refhist {

class SiteBreakpoints {
 public:
  SiteBreakpoints(lldb::SBBreakpointHitCallback on_hit, void* baton) : on_hit_(on_hit), baton_(baton) {}

  /// Needs a process: the address is one in memory.
  bool place(lldb::SBTarget& target, Address address);
  /// LLDB has no way to take a location away again: it is switched off.
  void remove(Address address);
  /// False when the user deleted the breakpoint, or switched it or this location off.
  [[nodiscard]] bool alive(Address address);
  /// Deletes the breakpoint with all its locations: the process ended, or runs another program now.
  void clear(lldb::SBTarget& target);

 private:
  bool make_breakpoint(lldb::SBTarget& target);
  /// Invalid unless the location was placed for this address and is there now.
  lldb::SBBreakpointLocation location_at(Address address);

  lldb::SBBreakpointHitCallback on_hit_;
  void* baton_;
  lldb::SBBreakpoint breakpoint_;
  std::unordered_map<Address, lldb::SBBreakpointLocation> locations_;  // also those switched off
};

}  // namespace refhist
