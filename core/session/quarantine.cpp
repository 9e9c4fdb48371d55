#include "session/quarantine.h"

#include "base/error.h"
#include "base/quarantine_size.h"

namespace refhist {

void Quarantine::take_all_blocks(bool all, DebuggerPort& port) {
  if (all == variable_is_ours_ || (all && port.environment(kPythonAllocator))) return;
  const std::optional<std::string> value = all ? std::optional<std::string>(kPythonUsesMalloc) : std::nullopt;
  if (!port.set_environment(kPythonAllocator, value) && all)
    fail("{} cannot set {} in the program's environment, which quarantine needs", port.name(),
         kPythonAllocator);
  variable_is_ours_ = all;
}

}  // namespace refhist
