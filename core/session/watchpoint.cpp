#include "session/watchpoint.h"

#include "port/watchpoint_check.h"

namespace refhist {

std::string place_watchpoint(DebuggerPort& port, const ProcessInfo& process, Address address, unsigned size) {
  if (process.local && !watchpoints_trigger())
    return "hardware watchpoints do not trigger on this machine (some virtual machines have none)";
  return port.place_watchpoint(address, size);
}

}  // namespace refhist
