// The statement by which a function has lost a pointer that it will not use any more.
#pragma once

#include <optional>
#include <string>

#include "session/followed_way.h"

namespace refhist {

struct LossPlace {
  std::size_t step = 0;      ///< of the way
  std::string function;      ///< that has lost it
  unsigned line = 0;         ///< the step's, or that of a statement without code behind it
  unsigned used = 0;         ///< line of the last use, in the same function
  bool overwritten = false;  ///< the variable gets another value; else the function leaves there
};

/// Nothing where the source does not tell, or is not there.
std::optional<LossPlace> loss_place(const FollowedWay& way);

}  // namespace refhist
