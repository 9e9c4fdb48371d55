// Code addresses lead to units by the ranges in the units themselves: clang writes no .debug_aranges.
#include "symbols/debug_units.h"

namespace refhist {

DebugUnit::DebugUnit(Dwarf_CU* cu) : cu_(cu) {
  dwarf_cu_info(cu_, nullptr, nullptr, &skeleton_, nullptr, nullptr, nullptr, nullptr);
}

const Dwarf_Die& DebugUnit::contents() {
  if (contents_ == nullptr) {
    std::uint8_t type = 0;
    Dwarf_Die split{};
    contents_ = std::make_unique<Dwarf_Die>(skeleton_);
    if (dwarf_cu_info(cu_, nullptr, &type, nullptr, nullptr, nullptr, nullptr, nullptr) == 0 &&
        type == DW_UT_skeleton &&
        dwarf_cu_info(cu_, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
        split.addr != nullptr) {
      *contents_ = split;
    }
  }
  return *contents_;
}

const Dwarf_Die* DebugUnit::function_at(Address address) {
  if (functions_ == nullptr) {
    functions_ = std::make_unique<IntervalTable<Dwarf_Die>>();
    collect_functions(contents());
    functions_->finish();
  }
  return functions_->find(address);
}

void DebugUnit::collect_functions(const Dwarf_Die& scope) {
  for_each_child(scope, [&](const Dwarf_Die& child) {
    switch (die_tag(child)) {
      case DW_TAG_subprogram:
        for_each_range(child, [&](Address begin, Address end) { functions_->add(begin, end, child); });
        return collect_functions(child);  // functions can nest (GNU C, Ada, Fortran)
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_lexical_block:
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type:
        return collect_functions(child);
      default:
        return;
    }
  });
}

std::deque<DebugUnit>& DebugUnits::all() {
  if (units_.empty()) {
    list(dwarf_);
    if (Dwarf* alternative = dwarf_getalt(dwarf_); alternative != nullptr) list(alternative);
  }
  return units_;
}

void DebugUnits::list(Dwarf* dwarf) {
  Dwarf_CU* cu = nullptr;
  while (dwarf_get_units(dwarf, cu, &cu, nullptr, nullptr, nullptr, nullptr) == 0) units_.emplace_back(cu);
}

DebugUnit* DebugUnits::at(Address address) {
  if (ranges_ == nullptr) {
    ranges_ = std::make_unique<IntervalTable<DebugUnit*>>();
    for (DebugUnit& unit : all()) {
      for_each_range(unit.skeleton(), [&](Address begin, Address end) { ranges_->add(begin, end, &unit); });
    }
    ranges_->finish();
  }
  DebugUnit* const* found = ranges_->find(address);
  return found == nullptr ? nullptr : *found;
}

}  // namespace refhist
