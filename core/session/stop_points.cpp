#include "session/stop_points.h"

#include <algorithm>

namespace refhist {

StopPoints::Reasons StopPoints::at(Address pc) const {
  const auto found = reasons_.find(pc);
  return found == reasons_.end() ? Reasons() : found->second;
}

bool StopPoints::has(Address address, StopPoint kind) const {
  const auto found = reasons_.find(address);
  return found != reasons_.end() && found->second.has(kind);
}

Address StopPoints::first(StopPoint kind) const {
  for (const auto& [address, reasons] : reasons_) {
    if (reasons.has(kind)) return address;
  }
  return 0;
}

bool StopPoints::add(DebuggerPort& port, Address address, StopPoint kind) {
  if (has(address, kind)) return true;
  if (!breakpoints_.arm(port, address)) return false;
  reasons_[address].kinds_ |= static_cast<std::uint8_t>(kind);
  return true;
}

bool StopPoints::add_rule(DebuggerPort& port, Address address, int rule) {
  Reasons& reasons = reasons_[address];
  std::vector<int>& rules = reasons.rules_;
  if (std::find(rules.begin(), rules.end(), rule) != rules.end()) return true;
  if (rules.empty() && !breakpoints_.arm(port, address)) {
    if (reasons.kinds_ == 0) reasons_.erase(address);
    return false;
  }
  rules.push_back(rule);
  return true;
}

void StopPoints::remove(DebuggerPort& port, Address address, StopPoint kind) {
  const auto found = reasons_.find(address);
  if (found == reasons_.end() || !found->second.has(kind)) return;
  found->second.kinds_ &= static_cast<std::uint8_t>(~static_cast<unsigned>(kind));
  breakpoints_.disarm(port, address);
  if (found->second.kinds_ == 0 && found->second.rules_.empty()) reasons_.erase(found);
}

void StopPoints::drop(Address begin, Address end) {
  std::erase_if(reasons_, [&](const auto& entry) { return begin <= entry.first && entry.first < end; });
}

}  // namespace refhist
