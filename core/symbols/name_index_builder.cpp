#include "symbols/name_index_builder.h"

#include <algorithm>

#include "symbols/name_index.h"

namespace refhist {

namespace {

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

/// Of the names that share it: the one that callers ask for, not a qualified one that it also goes by.
bool is_linkage_name(std::string_view name, const Dwarf_Die& function) {
  const std::string_view linkage = die_linkage_name(function);
  return linkage.empty() || linkage == name;
}

template <class Row>
std::span<const std::byte> bytes_of(const std::vector<Row>& rows) {
  return std::as_bytes(std::span(rows));
}

}  // namespace

NameIndexBuilder::NameIndexBuilder(DebugUnits& units) {
  IndexProgress progress(units);
  for (DebugUnit& unit : units.all()) {
    progress.unit();
    walk(unit.contents(), {}, is_c(unit.contents()), progress);
    declared_.clear();
  }
}

void NameIndexBuilder::walk(const Dwarf_Die& scope, std::string_view prefix, bool c,
                            IndexProgress& progress) {
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

void NameIndexBuilder::walk_named(const Dwarf_Die& scope, std::string_view prefix, bool c,
                                  IndexProgress& progress) {
  walk(scope, keep(std::string(prefix) + scope_name(scope) + "::"), c, progress);
}

/// What lies outside its class or namespace refers to its declaration inside.
std::string_view NameIndexBuilder::scope_around(const Dwarf_Die& die, std::string_view prefix) const {
  const auto declaration = die_reference(die, DW_AT_specification);
  if (!declaration) return prefix;
  const auto type = scopes_.find(declaration->addr);
  if (type != scopes_.end()) return type->second.name;
  const auto function = declared_.find(declaration->addr);
  return function != declared_.end() ? function->second : prefix;
}

void NameIndexBuilder::add_type(const Dwarf_Die& die, std::string_view prefix) {
  std::string_view name = die_name(die);
  if (name.empty()) return;
  prefix = scope_around(die, prefix);
  if (!prefix.empty()) scopes_.emplace(die.addr, Scope{die, prefix});
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

void NameIndexBuilder::add_function(const Dwarf_Die& die, std::string_view prefix) {
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

std::string_view NameIndexBuilder::keep(std::string text) { return *owned_.insert(std::move(text)).first; }

std::uint64_t NameIndexBuilder::put_text(std::string_view text) {
  const std::uint64_t at = texts_.size();
  texts_.insert(texts_.end(), text.begin(), text.end());
  return at;
}

std::vector<NameRow> NameIndexBuilder::rows_of(const Table& table, DieRefs& refs) {
  std::vector<const Table::value_type*> sorted;
  sorted.reserve(table.size());
  for (const auto& entry : table) sorted.push_back(&entry);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
  std::vector<NameRow> rows;
  rows.reserve(sorted.size());
  for (const auto* entry : sorted) {
    const auto& [name, dies] = *entry;
    rows.push_back({.text = put_text(name),
                    .first = dies_.size(),
                    .length = static_cast<std::uint32_t>(name.size()),
                    .count = static_cast<std::uint32_t>(dies.size()),
                    .linkage = is_linkage_name(name, dies.front()) ? 1U : 0U,
                    .unused = 0});
    for (const Dwarf_Die& die : dies) dies_.push_back(refs.ref(die));
  }
  return rows;
}

std::vector<ScopeRow> NameIndexBuilder::scope_rows(DieRefs& refs) {
  std::unordered_map<std::string_view, std::uint64_t> texts;
  std::vector<ScopeRow> rows;
  rows.reserve(scopes_.size());
  for (const auto& [address, scope] : scopes_) {
    const auto [text, added] = texts.try_emplace(scope.name);
    if (added) text->second = put_text(scope.name);
    rows.push_back({.die = refs.ref(scope.die), .text = text->second, .length = scope.name.size()});
  }
  std::sort(rows.begin(), rows.end(), [](const ScopeRow& a, const ScopeRow& b) { return a.die < b.die; });
  return rows;
}

TableFile NameIndexBuilder::tables(DieRefs& refs) {
  const std::vector<NameRow> types = rows_of(types_, refs);
  const std::vector<NameRow> functions = rows_of(functions_, refs);
  const std::vector<NameRow> enumerations = rows_of(enumerations_, refs);
  const std::vector<ScopeRow> scopes = scope_rows(refs);
  const std::array<std::span<const std::byte>, 6> all{bytes_of(texts_),       bytes_of(dies_),
                                                      bytes_of(types),        bytes_of(functions),
                                                      bytes_of(enumerations), bytes_of(scopes)};
  return {kNameIndexKind, kNameIndexVersion, all};
}

}  // namespace refhist
