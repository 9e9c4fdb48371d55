#include "memory_writer.h"

#include <vector>

namespace refhist {

namespace {
std::vector<lldb::SBBreakpointLocation> enabled_in(lldb::SBTarget& target, lldb::addr_t begin,
                                                   lldb::addr_t end) {
  std::vector<lldb::SBBreakpointLocation> found;
  const std::uint32_t count = target.GetNumBreakpoints();
  for (std::uint32_t i = 0; i < count; ++i) {
    lldb::SBBreakpoint breakpoint = target.GetBreakpointAtIndex(i);
    const std::size_t locations = breakpoint.GetNumLocations();
    for (std::size_t j = 0; j < locations; ++j) {
      lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<std::uint32_t>(j));
      const lldb::addr_t address = location.GetLoadAddress();
      if (begin <= address && address < end && location.IsEnabled()) found.push_back(location);
    }
  }
  return found;
}
}  // namespace

bool write_memory(lldb::SBTarget& target, lldb::SBProcess& process, lldb::addr_t address, const void* bytes,
                  std::size_t size) {
  std::vector<lldb::SBBreakpointLocation> aside = enabled_in(target, address, address + size);
  for (lldb::SBBreakpointLocation& location : aside) location.SetEnabled(false);
  lldb::SBError error;
  const bool done = process.WriteMemory(address, bytes, size, error) == size && error.Success();
  for (lldb::SBBreakpointLocation& location : aside) location.SetEnabled(true);
  return done;
}

}  // namespace refhist
