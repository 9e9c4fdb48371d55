#include "sites/breakpoints.h"

#include <vector>

namespace refhist {

bool Breakpoints::arm(DebuggerPort& port, Address address) {
  const auto found = reasons_.find(address);
  if (found != reasons_.end()) {
    ++found->second;
    return true;
  }
  if (!port.place_breakpoint(address)) return false;
  reasons_.emplace(address, 1);
  return true;
}

void Breakpoints::disarm(DebuggerPort& port, Address address) {
  const auto found = reasons_.find(address);
  if (found == reasons_.end() || --found->second > 0) return;
  reasons_.erase(found);
  port.remove_breakpoint(address);
}

void Breakpoints::drop(DebuggerPort& port, Address begin, Address end) {
  std::vector<Address> gone;
  for (const auto& [address, reasons] : reasons_) {
    if (begin <= address && address < end) gone.push_back(address);
  }
  for (const Address address : gone) {
    reasons_.erase(address);
    port.remove_breakpoint(address);
  }
}

void Breakpoints::disarm_all(DebuggerPort& port) {
  for (const auto& [address, reasons] : reasons_) port.remove_breakpoint(address);
  reasons_.clear();
}

std::size_t Breakpoints::count_lost(DebuggerPort& port) const {
  std::size_t lost = 0;
  for (const auto& [address, reasons] : reasons_) {
    if (!port.breakpoint_alive(address)) ++lost;
  }
  return lost;
}

}  // namespace refhist
