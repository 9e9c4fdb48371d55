// The setting `quarantine`: memory that the program has given back is kept from it for a while
// (agent/quarantine.h). The program must be started for that: it is in the environment of its next run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "port/debugger_port.h"

namespace refhist {

class Quarantine {
 public:
  /// Programs that the debugger starts from now on are ready for it, or no longer. Throws Error.
  void set(bool on, DebuggerPort& port);

 private:
  struct Replaced {
    std::string name;
    std::optional<std::string> before;
  };
  std::vector<Replaced> replaced_;
};

}  // namespace refhist
