// A recorded frame with its names.
#pragma once

#include <memory>
#include <string>

#include "analysis/tail_calls.h"
#include "base/types.h"

namespace refhist {

struct NamedFrame {
  std::string function;  ///< demangled; empty when unknown
  std::string file;      ///< full path; empty when unknown
  unsigned line = 0;
  std::string module;  ///< path; empty when in no module
  Address pc = 0;      ///< in memory while the module is loaded, else in the file
  bool inlined = false;
  std::shared_ptr<const LostFrames>
      lost;            ///< between this frame and the next; null when nothing is known to be
  Address offset = 0;  ///< of a suspect without a line: bytes from where the function begins to `pc`
};

}  // namespace refhist
