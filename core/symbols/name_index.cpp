#include "symbols/name_index.h"

#include <algorithm>

namespace refhist {

namespace {

const std::vector<Dwarf_Die> kNone;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Two definitions that differ here are worth keeping both.
bool look_alike(const Dwarf_Die& a, const Dwarf_Die& b) {
  return die_tag(a) == die_tag(b) && die_number(a, DW_AT_byte_size) == die_number(b, DW_AT_byte_size) &&
         die_number(a, DW_AT_decl_line) == die_number(b, DW_AT_decl_line);
}

/// An instance that inlined copies may refer to. Link-time optimisation leaves DW_AT_inline away, and GCC
/// calls a constructor not inlined, or refers from one without DW_AT_inline to that, where it was inlined.
bool is_abstract(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  if (dwarf_hasattr(&copy, DW_AT_inline) != 0) return true;
  return dwarf_hasattr(&copy, DW_AT_declaration) == 0 && dwarf_hasattr(&copy, DW_AT_low_pc) == 0 &&
         dwarf_hasattr(&copy, DW_AT_ranges) == 0;
}

}  // namespace

std::string normal_type_name(std::string_view name) {
  if (name.find(' ') == std::string_view::npos) return std::string(name);
  std::string normal;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool separates =
        !normal.empty() && is_word(normal.back()) && i + 1 < name.size() && is_word(name[i + 1]);
    if (name[i] != ' ' || separates) normal += name[i];
  }
  return normal;
}

NameIndex::NameIndex(DebugUnits& units) {
  IndexProgress progress(units);
  for (DebugUnit& unit : units.all()) {
    progress.unit();
    walk(unit.contents(), {}, is_c(unit.contents()), progress);
    declared_.clear();
  }
}

void NameIndex::walk(const Dwarf_Die& scope, std::string_view prefix, bool c, IndexProgress& progress) {
  for_each_child(scope, [&](const Dwarf_Die& child) {
    progress.entry();
    switch (die_tag(child)) {
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type:
        add_type(child, prefix);
        if (!c) walk_named(child, prefix, c, progress);
        return;
      case DW_TAG_typedef:
        return add_type(child, prefix);
      case DW_TAG_enumeration_type:
        if (!c && !die_name(child).empty())
          enumerations_[keep(std::string(prefix) + std::string(die_name(child)))].push_back(child);
        return;
      case DW_TAG_subprogram:
        return add_function(child, prefix);
      case DW_TAG_namespace:
      case DW_TAG_module:
        return walk_named(child, prefix, c, progress);
      default:
        return;
    }
  });
}

void NameIndex::walk_named(const Dwarf_Die& scope, std::string_view prefix, bool c, IndexProgress& progress) {
  walk(scope, keep(std::string(prefix) + scope_name(scope) + "::"), c, progress);
}

/// What lies outside its class or namespace refers to its declaration inside.
std::string_view NameIndex::scope_around(const Dwarf_Die& die, std::string_view prefix) const {
  const auto declaration = die_reference(die, DW_AT_specification);
  if (!declaration) return prefix;
  for (const auto* table : {&scopes_, &declared_}) {
    const auto found = table->find(declaration->addr);
    if (found != table->end()) return found->second;
  }
  return prefix;
}

void NameIndex::add_type(const Dwarf_Die& die, std::string_view prefix) {
  std::string_view name = die_name(die);
  if (name.empty()) return;
  prefix = scope_around(die, prefix);
  if (!prefix.empty()) scopes_.emplace(die.addr, prefix);
  if (die_flag(die, DW_AT_declaration)) return;
  if (!prefix.empty() || name.find('<') != std::string_view::npos) {
    name = keep(normal_type_name(std::string(prefix) + std::string(name)));
  }
  std::vector<Dwarf_Die>& known = types_[name];
  if (std::none_of(known.begin(), known.end(),
                   [&](const Dwarf_Die& other) { return look_alike(die, other); })) {
    known.push_back(die);
  }
}

void NameIndex::add_function(const Dwarf_Die& die, std::string_view prefix) {
  if (!prefix.empty()) declared_.emplace(die.addr, prefix);
  if (!is_abstract(die)) return;
  const std::string_view name = die_name(die);
  const std::string_view linkage = die_linkage_name(die);
  if (!linkage.empty() && linkage != name) functions_[linkage].push_back(die);
  if (name.empty()) return;
  functions_[name].push_back(die);
  const std::string_view around = scope_around(die, prefix);
  if (!around.empty()) functions_[keep(std::string(around) + std::string(name))].push_back(die);
}

std::string_view NameIndex::keep(std::string text) { return *owned_.insert(std::move(text)).first; }

const std::vector<Dwarf_Die>& NameIndex::types(std::string_view name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? kNone : found->second;
}

const std::vector<Dwarf_Die>& NameIndex::inlined_functions(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? kNone : found->second;
}

std::string NameIndex::with_enumerators(std::string_view name) const {
  std::string result;
  std::size_t at = 0;
  for (std::size_t open = 0; (open = name.find('(', at)) != std::string_view::npos;) {
    const std::size_t close = name.find(')', open);
    if (close == std::string_view::npos) break;
    const std::string_view enumeration = name.substr(open + 1, close - open - 1);
    const std::size_t end = std::min(name.find_first_not_of("0123456789", close + 1), name.size());
    const auto found = enumerations_.find(enumeration);
    result += name.substr(at, open - at);
    std::string_view enumerator;
    if (found != enumerations_.end()) {
      for_each_child(found->second.front(), [&](const Dwarf_Die& child) {
        const auto value = die_number(child, DW_AT_const_value);
        if (value && std::to_string(*value) == name.substr(close + 1, end - close - 1))
          enumerator = die_name(child);
      });
    }
    const std::string_view scope = enumeration.substr(0, enumeration.rfind(':') + 1);
    if (enumerator.empty()) {
      result += name.substr(open, end - open);
    } else {
      result += std::string(scope) + std::string(enumerator);
    }
    at = end;
  }
  return result + std::string(name.substr(at));
}

std::vector<std::string> NameIndex::inlined_names() const {
  std::vector<std::string> names;
  for (const auto& [name, functions] : functions_) {
    const std::string_view linkage = die_linkage_name(functions.front());
    if (linkage.empty() || linkage == name) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string_view NameIndex::scope_of(const Dwarf_Die& type) const {
  const auto found = scopes_.find(type.addr);
  return found == scopes_.end() ? std::string_view() : found->second;
}

}  // namespace refhist
