#include "symbols/name_index.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/interruption.h"

namespace refhist {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
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

std::vector<Dwarf_Die> NameIndex::find(Part part, std::string_view name) const {
  const std::span<const NameRow> rows = tables_.table<NameRow>(part);
  const auto row =
      std::lower_bound(rows.begin(), rows.end(), name,
                       [this](const NameRow& one, std::string_view wanted) { return text(one) < wanted; });
  std::vector<Dwarf_Die> found;
  if (row == rows.end() || text(*row) != name) return found;
  const std::span<const DieRef> dies = tables_.table<DieRef>(kDies);
  for (std::uint64_t i = row->first; i < row->first + row->count && i < dies.size(); ++i) {
    if (const auto die = refs_().die(dies[i])) found.push_back(*die);
  }
  return found;
}

std::vector<Dwarf_Die> NameIndex::types(std::string_view name) const { return find(kTypes, name); }

std::vector<Dwarf_Die> NameIndex::inlined_functions(std::string_view name) const {
  return find(kFunctions, name);
}

std::string NameIndex::with_enumerators(std::string_view name) const {
  std::string result;
  std::size_t at = 0;
  for (std::size_t open = 0; (open = name.find('(', at)) != std::string_view::npos;) {
    const std::size_t close = name.find(')', open);
    if (close == std::string_view::npos) break;
    const std::string_view enumeration = name.substr(open + 1, close - open - 1);
    const std::size_t end = std::min(name.find_first_not_of("0123456789", close + 1), name.size());
    const std::vector<Dwarf_Die> found = find(kEnumerations, enumeration);
    result += name.substr(at, open - at);
    std::string_view enumerator;
    if (!found.empty()) {
      for_each_child(found.front(), [&](const Dwarf_Die& child) {
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
  for (const NameRow& row : tables_.table<NameRow>(kFunctions)) {
    if (row.linkage != 0) names.emplace_back(text(row));
  }
  return names;
}

const std::vector<std::string>& NameIndex::inlined_names_with(std::string_view wanted) const {
  const auto known = names_with_.find(wanted);
  if (known != names_with_.end()) return known->second;
  std::vector<std::string> names;
  constexpr std::size_t kStep = std::size_t{1} << 16;
  const std::span<const NameRow> rows = tables_.table<NameRow>(kFunctions);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % kStep == 0)
      Interruption::tell(
          [&] { return fmt::format("looking for inlined copies: name {} of {}", i, rows.size()); });
    if (rows[i].linkage == 0) continue;
    const std::string_view name = text(rows[i]);
    if (name.find(wanted) != std::string_view::npos) names.emplace_back(name);
  }
  return names_with_.emplace(wanted, std::move(names)).first->second;
}

std::string NameIndex::full_name(const Dwarf_Die& type) const {
  return std::string(scope_of(type)) + std::string(die_name(type));
}

std::string_view NameIndex::scope_of(const Dwarf_Die& type) const {
  const DieRef ref = refs_().ref(type);
  const std::span<const ScopeRow> rows = tables_.table<ScopeRow>(kScopes);
  const auto row = std::lower_bound(rows.begin(), rows.end(), ref,
                                    [](const ScopeRow& one, DieRef wanted) { return one.die < wanted; });
  return row == rows.end() || row->die != ref ? std::string_view()
                                              : tables_.text(kTexts, row->text, row->length);
}

}  // namespace refhist
