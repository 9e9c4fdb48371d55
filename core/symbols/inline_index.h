// Every inlined copy of every function in a module, built by one walk over all function bodies.
#pragma once

#include <vector>

#include "symbols/debug_units.h"
#include "symbols/die_refs.h"
#include "symbols/index_progress.h"
#include "symbols/table_file.h"

namespace refhist {

inline constexpr std::uint32_t kInlineIndexKind = 2;
inline constexpr std::uint32_t kInlineIndexVersion = 2;

/// One DW_TAG_inlined_subroutine that has code, as the tables have it: there are millions of them in a large
/// module.
struct InlinedRow {
  DieRef origin = 0;  ///< the abstract instance
  DieRef copy = 0;
  DieRef parent = 0;  ///< the function or inlined copy around it
};

struct InlinedEntry {
  Dwarf_Die copy;
  Dwarf_Die parent;
};

class InlineIndex {
 public:
  /// What `tables` made. `refs` has to stay as long as this object.
  InlineIndex(TableFile tables, DieRefs& refs) : tables_(std::move(tables)), refs_(refs) {}
  /// Throws Interrupted.
  static TableFile tables(DebugUnits& units, DieRefs& refs);

  /// The copies of the function that this abstract instance describes.
  [[nodiscard]] std::vector<InlinedEntry> copies(const Dwarf_Die& abstract_instance) const;

 private:
  TableFile tables_;
  DieRefs& refs_;
};

}  // namespace refhist
