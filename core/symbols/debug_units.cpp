// Code addresses lead to units by the ranges in the units themselves: clang writes no .debug_aranges.
#include "symbols/debug_units.h"

#include <elfutils/libdwelf.h>
#include <fmt/core.h>

#include <filesystem>

#include "base/interruption.h"
#include "base/text.h"
#include "symbols/file_pages.h"

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

std::string DebugUnit::missing_file() {
  std::uint8_t type = 0;
  const bool found = contents().addr != skeleton_.addr;
  if (found || dwarf_cu_info(cu_, nullptr, &type, nullptr, nullptr, nullptr, nullptr, nullptr) != 0 ||
      type != DW_UT_skeleton)
    return {};
  const auto text = [&](unsigned attribute) {
    Dwarf_Attribute found_there;
    const char* value = dwarf_formstring(dwarf_attr(&skeleton_, attribute, &found_there));
    return std::string(value == nullptr ? "" : value);
  };
  const std::string name = text(DW_AT_dwo_name);
  const std::filesystem::path file = name.empty() ? text(DW_AT_GNU_dwo_name) : name;
  return (std::filesystem::path(text(DW_AT_comp_dir)) / file).lexically_normal();
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

const Dwarf_Die* DebugUnit::variable_at(Address address) {
  if (variables_ == nullptr) {
    variables_ = std::make_unique<std::map<Address, Dwarf_Die>>();
    collect_variables(contents());
  }
  const auto found = variables_->find(address);
  return found == variables_->end() ? nullptr : &found->second;
}

void DebugUnit::collect_variables(const Dwarf_Die& scope) {
  for_each_child(scope, [&](const Dwarf_Die& child) {
    switch (die_tag(child)) {
      case DW_TAG_variable:
        if (const auto address = fixed_address(child)) variables_->emplace(*address, child);
        return;
      case DW_TAG_subprogram:
      case DW_TAG_namespace:
      case DW_TAG_module:
      case DW_TAG_lexical_block:
        return collect_variables(child);
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
  while (dwarf_get_units(dwarf, cu, &cu, nullptr, nullptr, nullptr, nullptr) == 0) {
    if (DebugUnit unit(cu); unit.is_readable()) units_.push_back(std::move(unit));
  }
}

const std::string& DebugUnits::missing() {
  if (!missing_) missing_ = find_missing();
  return *missing_;
}

std::string DebugUnits::find_missing() {
  const char* name = nullptr;
  const void* id = nullptr;
  if (dwelf_dwarf_gnu_debugaltlink(dwarf_, &name, &id) > 0 && dwarf_getalt(dwarf_) == nullptr)
    return fmt::format("{} was not found", name);
  std::size_t count = 0;
  std::string first;
  for (DebugUnit& unit : all()) {
    Interruption::tell([&] {
      return fmt::format("reading the debug information of {}: looking for its files", file_name(module_));
    });
    const std::string file = unit.missing_file();
    if (!file.empty() && count++ == 0) first = file;
  }
  if (count == 0) return {};
  const bool packed = std::filesystem::exists(module_ + ".dwp");
  return fmt::format(
      "{}{} not found{}", first,
      count == 1 ? " was" : fmt::format(" and {} were", plural(count - 1, "other .dwo file")),
      packed ? ", and this machine's libdw may be unable to read " + file_name(module_) + ".dwp" : "");
}

void DebugUnits::let_go_of_pages() {
  refhist::let_go_of_pages(dwarf_getelf(dwarf_));
  if (Dwarf* alternative = dwarf_getalt(dwarf_); alternative != nullptr)
    refhist::let_go_of_pages(dwarf_getelf(alternative));
}

DebugUnit* DebugUnits::at(Address address) {
  if (ranges_ == nullptr) {
    ranges_ = std::make_unique<IntervalTable<DebugUnit*>>();
    std::size_t number = 0;
    for (DebugUnit& unit : all()) {
      Interruption::tell([&] {
        return fmt::format("reading the debug information of {}: the code of unit {} of {}",
                           file_name(module_), number, units_.size());
      });
      ++number;
      for_each_range(unit.skeleton(), [&](Address begin, Address end) { ranges_->add(begin, end, &unit); });
    }
    ranges_->finish();
  }
  DebugUnit* const* found = ranges_->find(address);
  return found == nullptr ? nullptr : *found;
}

}  // namespace refhist
