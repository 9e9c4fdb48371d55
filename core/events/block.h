// A block of memory that a tracked allocator has handed out.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace refhist {

struct Block {
  Address begin = 0;
  std::uint64_t size = 0;  ///< bytes asked for
  SiteId site;
  FamilyId allocator;  ///< the family of the site
  ThreadIndex thread;
  StackId stack;
  std::uint64_t time_ns = 0;      ///< of the call's beginning
  std::uint64_t returned_ns = 0;  ///< and of its end
};

}  // namespace refhist
