#include "first_launch.h"

#include <iterator>
#include <string_view>

#include "hidden_name.h"

namespace refhist {

namespace {
constexpr const char* kName = "refhist-first-launch";
constexpr std::string_view kInLinker = "_dl_debug_state";
// LLDB keeps a symbol's version in its name.
const char* kFunctions[] = {"_dl_debug_state", "_dl_debug_state@@GLIBC_PRIVATE", "__libc_start_main",
                            "__libc_start_main@@GLIBC_2.34", "__libc_start_main@@GLIBC_2.2.5"};
}  // namespace

void FirstLaunch::watch(lldb::SBDebugger& debugger) {
  if (id_ != LLDB_INVALID_BREAK_ID) return;
  lldb::SBTarget dummy = debugger.GetDummyTarget();
  const lldb::SBFileSpecList everywhere;
  lldb::SBBreakpoint breakpoint = dummy.BreakpointCreateByNames(
      kFunctions, std::size(kFunctions), lldb::eFunctionNameTypeFull, everywhere, everywhere);
  if (!breakpoint.IsValid()) return;
  hide(dummy, breakpoint);
  breakpoint.AddNameWithErrorHandling(kName);
  breakpoint.SetCallback(on_hit_, baton_);
  id_ = breakpoint.GetID();
}

void FirstLaunch::forget(lldb::SBDebugger& debugger, lldb::SBTarget& target) {
  if (id_ == LLDB_INVALID_BREAK_ID) return;
  debugger.GetDummyTarget().BreakpointDelete(id_);
  id_ = LLDB_INVALID_BREAK_ID;
  lldb::SBBreakpointList copies(target);
  target.FindBreakpointsByName(kName, copies);
  for (std::size_t i = 0; i < copies.GetSize(); ++i)
    target.BreakpointDelete(copies.GetBreakpointAtIndex(i).GetID());
}

bool FirstLaunch::is_before_entry(lldb::SBThread& thread) {
  const char* function = thread.GetFrameAtIndex(0).GetFunctionName();
  return function != nullptr && std::string_view(function).find(kInLinker) != std::string_view::npos;
}

}  // namespace refhist
