// Writes into the program's code, where breakpoints may stand.
#pragma once

#include <lldb/API/LLDB.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace refhist {

/// Breakpoints at such addresses are out as long as this lives.
class BreakpointsAside {
 public:
  BreakpointsAside(lldb::SBTarget& target, const std::function<bool(lldb::addr_t)>& is_there);
  ~BreakpointsAside();
  BreakpointsAside(const BreakpointsAside&) = delete;
  BreakpointsAside& operator=(const BreakpointsAside&) = delete;

 private:
  std::vector<lldb::SBBreakpointLocation> locations_;
};

/// LLDB's debug server would overwrite the breakpoints in the range and later put the old bytes back: they
/// are taken out for the moment of writing. False when not all was written.
bool write_memory(lldb::SBTarget& target, lldb::SBProcess& process, lldb::addr_t address, const void* bytes,
                  std::size_t size);

}  // namespace refhist
