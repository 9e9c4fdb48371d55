// Every inlined copy of every function in a module, built by one walk over all function bodies.
#pragma once

#include <span>
#include <vector>

#include "symbols/debug_units.h"
#include "symbols/index_progress.h"

namespace refhist {

/// One DW_TAG_inlined_subroutine that has code. Entries are kept as their address and unit: there are
/// millions of them in a large module.
struct InlinedEntry {
  const void* origin = nullptr;  ///< address of the abstract instance's entry
  void* copy = nullptr;
  void* parent = nullptr;  ///< the function or inlined copy around it
  Dwarf_CU* unit = nullptr;

  [[nodiscard]] Dwarf_Die copy_die() const {
    return {.addr = copy, .cu = unit, .abbrev = nullptr, .padding__ = 0};
  }
  [[nodiscard]] Dwarf_Die parent_die() const {
    return {.addr = parent, .cu = unit, .abbrev = nullptr, .padding__ = 0};
  }
};

class InlineIndex {
 public:
  /// Throws Interrupted.
  explicit InlineIndex(DebugUnits& units);

  /// The copies of the function that this abstract instance describes.
  [[nodiscard]] std::span<const InlinedEntry> copies(const Dwarf_Die& abstract_instance) const;

 private:
  void walk(const Dwarf_Die& scope, void* function, IndexProgress& progress);

  std::vector<InlinedEntry> entries_;  // by origin
};

}  // namespace refhist
