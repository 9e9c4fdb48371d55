// Copies of a get or put that the debug information does not tell of.
#pragma once

#include <vector>

#include "sites/memory_changes.h"
#include "sites/site.h"
#include "symbols/module_map.h"

namespace refhist {

/// By those that it tells of, `known`, of one family in one module:
/// - A thunk may have the whole body of its function, with another distance to the object. It has no debug
///   information of its own; the same changes come in the same order.
/// - Where several copies on different ways do the same, a compiler may keep one of them, of line 0.
std::vector<Site> nameless_copies(const LoadedModule& module, const std::vector<Site>& known,
                                  MemoryChanges& changes);

}  // namespace refhist
