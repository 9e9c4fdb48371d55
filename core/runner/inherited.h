// What a program has from whoever started it: refhist-run takes it down before it changes any of it, and the
// program gets it in place of the debugger's.
#pragma once

#include <cstdint>
#include <vector>

namespace refhist {

struct Inherited {
  std::uint64_t ignored = 0;  ///< signals, the first one in the lowest bit
  std::uint64_t blocked = 0;  ///< the same
  std::vector<int> files;     ///< that exec leaves open; ascending

  /// Of this process. All but the standard files are closed by exec from now on: they are the program's, not
  /// the debugger's. No signal is blocked any more, and children can be waited for.
  static Inherited take();
};

}  // namespace refhist
