// The slab caches of a Linux kernel, from its own list of them.
#pragma once

#include <string>
#include <vector>

#include "families/family.h"
#include "port/debugger_port.h"
#include "symbols/module.h"

namespace refhist {

struct SlabCache {
  std::string name;
  Address address = 0;
  std::uint32_t object_size = 0;
};

/// All that there are now. Throws Error: they cannot be found.
std::vector<SlabCache> read_slab_caches(DebuggerPort& port, const Module& module, Address bias);

/// What a cache hands out and gets back: one reference each, as nothing counts them.
Family slab_family(const SlabCache& cache);

}  // namespace refhist
