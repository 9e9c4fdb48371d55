// What the stop rules want of a family's sites in the program.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace refhist {

struct AgentWatch {
  std::uint8_t flags = 0;  ///< agent::Watch
  Address only = 0;        ///< the object's address; 0: every object

  bool operator==(const AgentWatch&) const = default;
};

}  // namespace refhist
