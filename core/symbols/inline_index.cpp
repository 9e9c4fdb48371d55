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
  // `function`: null outside of all, and in an abstract instance, which has no code: its inlined entries are
  // no copies. It may have a lambda whose code stands with its type in there.
  void inside(const Dwarf_Die& scope, const Dwarf_Die* function) {
    for_each_child(scope, [&](const Dwarf_Die& child) {
      progress_.entry();
      switch (die_tag(child)) {
        case DW_TAG_subprogram:
          return inside(child, has_code(child) ? &child : nullptr);
        case DW_TAG_inlined_subroutine: {
          if (function == nullptr) return;
          if (const auto origin = die_reference(child, DW_AT_abstract_origin))
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

  static bool has_code(const Dwarf_Die& function) {
    return !die_number(function, DW_AT_inline) && !die_flag(function, DW_AT_declaration);
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
