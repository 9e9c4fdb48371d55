// The code that the user looks at while the program stands: the function of the selected thread, and its
// caller. The next steps lead through it, and a debugger shows its memory.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "port/debugger_port.h"
#include "session/session_state.h"

namespace refhist {

class ShownCode {
 public:
  /// The program stands at a place that the user sees.
  void look(SessionState& state, DebuggerPort& port);
  void clear();

  [[nodiscard]] bool contains(Address address) const;
  /// The site's breakpoint in this code is hit. False once it has been hit so often that
  /// nobody steps there any more.
  bool keeps(SiteId site);

 private:
  struct Range {
    Address begin = 0;
    Address end = 0;
  };
  std::vector<Range> functions_;
  std::unordered_map<SiteId, unsigned> hits_;  // since the program went on
};

}  // namespace refhist
