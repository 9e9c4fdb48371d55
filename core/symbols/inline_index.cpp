#include "symbols/inline_index.h"

#include <algorithm>

namespace refhist {

InlineIndex::InlineIndex(DebugUnits& units) {
  IndexProgress progress(units);
  for (DebugUnit& unit : units.all()) {
    progress.unit();
    walk(unit.contents(), nullptr, progress);
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const InlinedEntry& a, const InlinedEntry& b) { return a.origin < b.origin; });
  entries_.shrink_to_fit();
}

void InlineIndex::walk(const Dwarf_Die& scope, void* function, IndexProgress& progress) {
  for_each_child(scope, [&](const Dwarf_Die& child) {
    progress.entry();
    switch (die_tag(child)) {
      case DW_TAG_subprogram:
        // Abstract instances have no code, so their inlined entries are no copies.
        if (!die_number(child, DW_AT_inline) && !die_flag(child, DW_AT_declaration))
          walk(child, child.addr, progress);
        return;
      case DW_TAG_inlined_subroutine: {
        const auto origin = die_reference(child, DW_AT_abstract_origin);
        if (origin && function != nullptr) entries_.push_back({origin->addr, child.addr, function, child.cu});
        return walk(child, child.addr, progress);
      }
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
        return walk(child, function, progress);
      default:
        return;
    }
  });
}

std::span<const InlinedEntry> InlineIndex::copies(const Dwarf_Die& abstract_instance) const {
  const void* origin = abstract_instance.addr;
  const auto first = std::lower_bound(entries_.begin(), entries_.end(), origin,
                                      [](const InlinedEntry& e, const void* o) { return e.origin < o; });
  const auto last = std::upper_bound(first, entries_.end(), origin,
                                     [](const void* o, const InlinedEntry& e) { return o < e.origin; });
  return {first, last};
}

}  // namespace refhist
