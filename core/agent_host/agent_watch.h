// What the stop rules want of a family's sites in the program.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace refhist {

struct AgentWatch {
  std::uint8_t flags = 0;  ///< agent::Watch
  Address only = 0;        ///< the object's address; 0: every object
  std::int32_t above = 0;  ///< kWatchCount: the lowest of the rules'
  Address each = 0;        ///< kWatchEach: the object's address, or agent::kEveryObject

  bool operator==(const AgentWatch&) const = default;
};

}  // namespace refhist
