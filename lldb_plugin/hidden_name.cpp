#include "hidden_name.h"

namespace refhist {

namespace {
constexpr const char* kHiddenName = "refhist";
}  // namespace

bool is_hidden(lldb::SBBreakpoint& breakpoint) { return breakpoint.MatchesName(kHiddenName); }

void hide(lldb::SBTarget& target, lldb::SBBreakpoint& breakpoint) {
  lldb::SBBreakpointName name(target, kHiddenName);
  name.SetHelpString("Breakpoints of refhist; `refhist status` says what they are for.");
  name.SetAllowList(false);
  name.SetAllowDelete(false);
  name.SetAllowDisable(false);
  breakpoint.AddNameWithErrorHandling(kHiddenName);
}

}  // namespace refhist
