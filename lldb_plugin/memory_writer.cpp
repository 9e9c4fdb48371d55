#include "memory_writer.h"

namespace refhist {

namespace {
std::vector<lldb::SBBreakpointLocation> enabled_where(lldb::SBTarget& target,
                                                      const std::function<bool(lldb::addr_t)>& is_there) {
  std::vector<lldb::SBBreakpointLocation> found;
  const std::uint32_t count = target.GetNumBreakpoints();
  for (std::uint32_t i = 0; i < count; ++i) {
    lldb::SBBreakpoint breakpoint = target.GetBreakpointAtIndex(i);
    const std::size_t locations = breakpoint.GetNumLocations();
    for (std::size_t j = 0; j < locations; ++j) {
      lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(j));
      if (is_there(location.GetLoadAddress()) && location.IsEnabled()) found.push_back(location);
    }
  }
  return found;
}

// LLDB finds out why a thread has stopped when somebody asks, from the breakpoint as it is then.
void have_stops_described(lldb::SBTarget& target) {
  lldb::SBProcess process = target.GetProcess();
  const std::uint32_t count = process.GetNumThreads();
  for (std::uint32_t i = 0; i < count; ++i) process.GetThreadAtIndex(i).GetStopDescription(nullptr, 0);
}
}  // namespace

BreakpointsAside::BreakpointsAside(lldb::SBTarget& target, const std::function<bool(lldb::addr_t)>& is_there)
    : locations_(enabled_where(target, is_there)) {
  if (!locations_.empty()) have_stops_described(target);
  for (lldb::SBBreakpointLocation& location : locations_) location.SetEnabled(false);
}

BreakpointsAside::~BreakpointsAside() {
  for (lldb::SBBreakpointLocation& location : locations_) location.SetEnabled(true);
}

bool write_memory(lldb::SBTarget& target, lldb::SBProcess& process, lldb::addr_t address, const void* bytes,
                  std::size_t size) {
  const BreakpointsAside aside(target, [&](lldb::addr_t at) { return address <= at && at < address + size; });
  lldb::SBError error;
  return process.WriteMemory(address, bytes, size, error) == size && error.Success();
}

}  // namespace refhist
