#include "site_breakpoints.h"

#include "hidden_name.h"

namespace refhist {

bool SiteBreakpoints::make_breakpoint(lldb::SBTarget& target) {
  locations_.clear();
  lldb::SBStructuredData arguments;
  const lldb::SBFileSpecList everywhere;
  breakpoint_ = target.BreakpointCreateFromScript("refhist_no_such_class", arguments, everywhere, everywhere);
  if (!breakpoint_.IsValid()) return false;
  hide(target, breakpoint_);
  breakpoint_.SetCallback(on_hit_, baton_);
  return true;
}

bool SiteBreakpoints::place(lldb::SBTarget& target, Address address) {
  if (!breakpoint_.IsValid() && !make_breakpoint(target)) return false;
  lldb::SBBreakpointLocation& location = locations_[address];
  if (location.IsValid() && location.GetLoadAddress() == address) {
    location.SetEnabled(true);
    return true;
  }
  lldb::SBAddress place(address, target);
  if (breakpoint_.AddLocation(place).Success()) location = breakpoint_.FindLocationByAddress(address);
  if (location.IsValid()) return true;
  locations_.erase(address);
  return false;
}

void SiteBreakpoints::remove(Address address) {
  const auto found = locations_.find(address);
  if (found != locations_.end() && found->second.IsValid()) found->second.SetEnabled(false);
}

bool SiteBreakpoints::alive(Address address) {
  if (!breakpoint_.IsValid() || !breakpoint_.IsEnabled()) return false;
  const auto found = locations_.find(address);
  return found != locations_.end() && found->second.IsValid() && found->second.IsEnabled();
}

void SiteBreakpoints::clear(lldb::SBTarget& target) {
  locations_.clear();
  if (breakpoint_.IsValid() && target.IsValid()) target.BreakpointDelete(breakpoint_.GetID());
  breakpoint_ = lldb::SBBreakpoint();
}

}  // namespace refhist
