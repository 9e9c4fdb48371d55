// A stop in a kernel: events are a task's, whichever processor it runs on. There is no agent, and no signal
// handler that could have a hit reported twice.
#include "session/hit_handler.h"

namespace refhist {

void HitHandler::watch_calls(DebuggerPort& port, const ProgramAccess& access, long tid,
                             const Registers& registers) {
  const StopPoints::Reasons reasons = tracker_.stop_points().at(registers.pc());
  for (const int watch : reasons.rules()) {
    std::optional<Address> arm_return;
    state_.recorder.on_watched_entry(access, tid, registers, watch, arm_return);
    if (arm_return) tracker_.arm_return(port, *arm_return);
  }
}

bool HitHandler::handle_in_kernel(DebuggerPort& port, const ProgramAccess& access, long processor,
                                  Address pc) {
  auto registers = port.registers(processor);
  if (!registers) {
    state_.lose_hit();
    return false;
  }
  (*registers)[kRip] = pc;
  const SiteId armed = state_.sites.at(pc);
  const SiteId site = armed.valid() && state_.recording ? state_.recorder.meant(armed, *registers) : SiteId();
  const StopPoints::Reasons reasons = tracker_.stop_points().at(pc);
  const bool nobodys = !site.valid() && !reasons.has(StopPoint::call_return) && reasons.rules().empty();
  if (nobodys) return false;  // another cache's: nothing more of it is read
  const long task = state_.kernel->tasks().running(port, processor, *registers);
  record_return(access, task, *registers);
  if (site.valid()) record_entry(port, access, task, *registers, site);
  watch_calls(port, access, task, *registers);
  return !reason_.empty();
}

}  // namespace refhist
