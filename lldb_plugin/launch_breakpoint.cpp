#include "launch_breakpoint.h"

#include "file_path.h"
#include "hidden_name.h"

namespace refhist {

namespace {
void take_away(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint) {
  if (breakpoint.IsValid() && target.IsValid()) target.BreakpointDelete(breakpoint.GetID());
  breakpoint = lldb::SBBreakpoint();
}

lldb::SBAddress second_instruction(lldb::SBTarget& target, const lldb::SBAddress& entry) {
  return target.ReadInstructions(entry, 2).GetInstructionAtIndex(1).GetAddress();
}
}  // namespace

void LaunchBreakpoint::arm(lldb::SBTarget& target) {
  arm_entry(target);
  arm_start(target);
}

void LaunchBreakpoint::arm_entry(lldb::SBTarget& target) {
  const lldb::SBFileSpec file = target.GetExecutable();
  const std::string path = path_of(file);
  if (entry_.IsValid() && path == executable_) return;
  take_away(target, entry_);
  lldb::SBModule module = target.FindModule(file);
  if (!module.IsValid()) return;
  lldb::SBAddress address = module.GetObjectFileEntryPointAddress();
  if (address.IsValid() && !module.FindSection(".interp").IsValid())
    address = second_instruction(target, address);
  if (!address.IsValid()) return;
  entry_ = target.BreakpointCreateBySBAddress(address);
  executable_ = path;
  finish(target, entry_);
}

void LaunchBreakpoint::arm_start(lldb::SBTarget& target) {
  if (start_.IsValid()) return;
  lldb::SBModule library = target.FindModule(lldb::SBFileSpec("libc.so.6", false));
  // LLDB keeps the symbol's version in its name.
  for (const char* name :
       {"__libc_start_main@@GLIBC_2.34", "__libc_start_main@@GLIBC_2.2.5", "__libc_start_main"}) {
    if (!library.IsValid() || start_.IsValid()) break;
    lldb::SBSymbol symbol = library.FindSymbol(name);
    lldb::SBAddress address = symbol.GetStartAddress();
    // By address: a breakpoint by name would announce each location that it gains.
    if (address.IsValid()) start_ = target.BreakpointCreateBySBAddress(address);
  }
  finish(target, start_);
}

void LaunchBreakpoint::finish(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint) {
  if (!breakpoint.IsValid()) return;
  hide(target, breakpoint);
  breakpoint.SetCallback(on_hit_, baton_);
}

bool LaunchBreakpoint::is_entry(lldb::SBBreakpointLocation& location) const {
  return entry_.IsValid() && location.GetBreakpoint().GetID() == entry_.GetID();
}

void LaunchBreakpoint::disarm(lldb::SBTarget& target) {
  take_away(target, entry_);
  take_away(target, start_);
  executable_.clear();
}

}  // namespace refhist
