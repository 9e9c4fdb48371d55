// Tests for the last reference behind which the object is given back, and no zero is stored.
#pragma once

#include <set>

#include "sites/counting_calls.h"
#include "sites/memory_changes.h"

namespace refhist {

class LastPuts {
 public:
  LastPuts(const Module& module, CountingCalls& names) : module_(module), names_(names) {}

  /// The way on which one reference is left leads straight to where the object's memory is freed, past none
  /// of these puts. Code that only asks whether it has an object for itself alone does not free it.
  [[nodiscard]] bool is_one(const MemoryChange& test, const std::set<Address>& puts);

 private:
  const Module& module_;
  CountingCalls& names_;
};

}  // namespace refhist
