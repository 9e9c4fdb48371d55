// Puts code bytes back in a local process that the debugger has let go of: all its threads are stopped for
// that moment, by this thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/types.h"

namespace refhist {

struct CodeBytes {
  Address address = 0;
  std::vector<std::uint8_t> expected;  ///< what stands there now; anything else is left alone
  std::vector<std::uint8_t> wanted;    ///< as many
};

/// Empty when done or when the process has ended, else why not.
std::string write_code_of_detached(long pid, const std::vector<CodeBytes>& code);

}  // namespace refhist
