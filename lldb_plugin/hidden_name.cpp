#include "hidden_name.h"

namespace refhist {

void hide(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint) {
  constexpr const char* kName = "refhist";
  lldb::SBBreakpointName name(target, kName);
  name.SetHelpString("Breakpoints of refhist; `refhist status` says what they are for.");
  name.SetAllowList(false);
  name.SetAllowDelete(false);
  name.SetAllowDisable(false);
  breakpoint.AddNameWithErrorHandling(kName);
}

}  // namespace refhist
