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
/// - Of functions with the same code, a compiler keeps one with its debug information. Where a pointer to
///   another one must differ, it copies the code without.
/// - Where several copies on different ways do the same, a compiler may keep one of them, of line 0.
std::vector<Site> nameless_copies(const LoadedModule& module, const std::vector<Site>& known,
                                  const Family& family, MemoryChanges& changes);

}  // namespace refhist
