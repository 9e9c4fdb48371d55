#include "session/quarantine.h"

#include "base/error.h"
#include "base/quarantine_environment.h"

namespace refhist {

void Quarantine::set(bool on, DebuggerPort& port) {
  for (const Replaced& variable : replaced_) port.set_environment(variable.name, variable.before);
  replaced_.clear();
  if (!on) return;
  const auto now = [&](const std::string& name) { return port.environment(name); };
  for (const EnvironmentVariable& variable : quarantine_environment(now)) {
    auto before = now(variable.name);
    if (!port.set_environment(variable.name, variable.value))
      fail("{} cannot set {} in the program's environment, which quarantine needs", port.name(),
           variable.name);
    replaced_.push_back({variable.name, std::move(before)});
  }
}

}  // namespace refhist
