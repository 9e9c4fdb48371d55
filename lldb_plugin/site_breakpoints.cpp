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
  lldb::SBBreakpointLocation location = location_at(address);
  if (!location.IsValid()) {
    lldb::SBAddress place(address, target);
    // LLDB would run the resolver in the program to find the function that is meant: not from within a hit.
    if (place.GetSymbol().GetType() == lldb::eSymbolTypeResolver) return false;
    if (breakpoint_.AddLocation(place).Fail()) return false;
    location = breakpoint_.FindLocationByAddress(address);
    if (!location.IsValid()) return false;
    locations_[address] = location;
  }
  location.SetEnabled(true);
  return true;
}

void SiteBreakpoints::remove(Address address) {
  const auto found = locations_.find(address);
  if (found == locations_.end()) return;
  lldb::SBBreakpointLocation location = found->second;
  const Address now = location.IsValid() ? location.GetLoadAddress() : LLDB_INVALID_ADDRESS;
  // A library that came back at another address has taken the location along: it is another site's now.
  if (now != address && now != LLDB_INVALID_ADDRESS) {
    locations_.erase(found);
  } else if (location.IsValid()) {
    location.SetEnabled(false);
  }
}

bool SiteBreakpoints::alive(Address address) {
  return breakpoint_.IsValid() && breakpoint_.IsEnabled() && location_at(address).IsEnabled();
}

lldb::SBBreakpointLocation SiteBreakpoints::location_at(Address address) {
  const auto found = locations_.find(address);
  if (found == locations_.end() || !found->second.IsValid() || found->second.GetLoadAddress() != address)
    return {};
  return found->second;
}

void SiteBreakpoints::clear(lldb::SBTarget& target) {
  locations_.clear();
  if (breakpoint_.IsValid() && target.IsValid()) target.BreakpointDelete(breakpoint_.GetID());
  breakpoint_ = lldb::SBBreakpoint();
}

}  // namespace refhist
