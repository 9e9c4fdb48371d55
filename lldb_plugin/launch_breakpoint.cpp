#include "launch_breakpoint.h"

#include "file_path.h"
#include "hidden_name.h"

namespace refhist {

void LaunchBreakpoint::arm(lldb::SBTarget& target) {
  const lldb::SBFileSpec file = target.GetExecutable();
  const std::string path = path_of(file);
  if (breakpoint_.IsValid() && path == executable_) return;
  disarm(target);
  lldb::SBModule module = target.FindModule(file);
  if (!module.IsValid()) return;
  lldb::SBAddress entry = module.GetObjectFileEntryPointAddress();
  if (!entry.IsValid()) return;
  breakpoint_ = target.BreakpointCreateBySBAddress(entry);
  if (!breakpoint_.IsValid()) return;
  executable_ = path;
  hide(target, breakpoint_);
  breakpoint_.SetCallback(on_hit_, baton_);
}

void LaunchBreakpoint::disarm(lldb::SBTarget& target) {
  executable_.clear();
  if (breakpoint_.IsValid() && target.IsValid()) target.BreakpointDelete(breakpoint_.GetID());
  breakpoint_ = lldb::SBBreakpoint();
}

}  // namespace refhist
