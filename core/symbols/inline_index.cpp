#include "symbols/inline_index.h"

#include <algorithm>
#include <array>
#include <memory>
#include <tuple>

#include "symbols/growing_table.h"

namespace refhist {

namespace {

class Walk {
 public:
  Walk(DebugUnits& units, DieRefs& refs) : refs_(refs), progress_(units) {
    for (DebugUnit& unit : units.all()) {
      progress_.unit();
      inside(unit.contents(), nullptr);
    }
  }
  GrowingTable<InlinedRow> take() {
    std::sort(rows_.begin(), rows_.end(), [this](const InlinedRow& a, const InlinedRow& b) {
      progress_.sorting();
      return std::tie(a.origin, a.copy) < std::tie(b.origin, b.copy);
    });
    return std::move(rows_);
  }

 private:
  void inside(const Dwarf_Die& scope, const Dwarf_Die* function) {
    for_each_child(scope, [&](const Dwarf_Die& child) {
      progress_.entry();
      switch (die_tag(child)) {
        case DW_TAG_subprogram:
          return subprogram(child);
        case DW_TAG_inlined_subroutine: {
          const auto origin = die_reference(child, DW_AT_abstract_origin);
          if (origin && function != nullptr)
            rows_.push_back({refs_.ref(*origin), refs_.ref(child), refs_.ref(*function)});
          return inside(child, &child);
        }
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
          return inside(child, function);
        default:
          return;
      }
    });
  }

  // Abstract instances have no code, so their inlined entries are no copies.
  void subprogram(const Dwarf_Die& die) {
    if (die_number(die, DW_AT_inline) || die_flag(die, DW_AT_declaration))
      local_types(die);
    else
      inside(die, &die);
  }

  // What was inlined everywhere may have a lambda, whose code stands with its type in the abstract instance.
  void local_types(const Dwarf_Die& scope) {
    for_each_child(scope, [&](const Dwarf_Die& child) {
      progress_.entry();
      switch (die_tag(child)) {
        case DW_TAG_subprogram:
          return subprogram(child);
        case DW_TAG_lexical_block:
          return local_types(child);
        case DW_TAG_structure_type:
        case DW_TAG_class_type:
        case DW_TAG_union_type:
          return inside(child, nullptr);
        default:
          return;
      }
    });
  }

  DieRefs& refs_;
  IndexProgress progress_;
  GrowingTable<InlinedRow> rows_;
};

}  // namespace

TableFile InlineIndex::tables(DebugUnits& units, DieRefs& refs) {
  const auto rows = std::make_shared<GrowingTable<InlinedRow>>(Walk(units, refs).take());
  units.let_go_of_pages();
  const std::array<std::span<const std::byte>, 1> all{rows->bytes()};
  return {kInlineIndexKind, kInlineIndexVersion, all, rows};
}

std::vector<InlinedEntry> InlineIndex::copies(const Dwarf_Die& abstract_instance) const {
  const DieRef origin = refs_.ref(abstract_instance);
  const std::span<const InlinedRow> rows = tables_.table<InlinedRow>(0);
  auto row = std::lower_bound(rows.begin(), rows.end(), origin,
                              [](const InlinedRow& one, DieRef wanted) { return one.origin < wanted; });
  std::vector<InlinedEntry> entries;
  for (; row != rows.end() && row->origin == origin; ++row) {
    const auto copy = refs_.die(row->copy);
    const auto parent = refs_.die(row->parent);
    if (copy && parent) entries.push_back({*copy, *parent});
  }
  return entries;
}

}  // namespace refhist
