// A piece of the program's code that is not what the program has there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace refhist {

struct CodeBytes {
  Address address = 0;
  std::vector<std::uint8_t> expected;  ///< what stands there now; anything else is left alone
  std::vector<std::uint8_t> wanted;    ///< as many
};

/// Into bytes that were read at the address, as far as they have to do with it. True when that changed them.
bool put_wanted(const CodeBytes& code, Address address, std::span<std::uint8_t> bytes);

}  // namespace refhist
