#include "symbols/name_index_builder.h"

#include <algorithm>
#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "symbols/name_index.h"

namespace refhist {

namespace {

/// Two definitions that differ here are worth keeping both.
std::uint64_t look_of(const Dwarf_Die& die) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  const std::array<std::uint64_t, 3> look{static_cast<std::uint64_t>(die_tag(die)),
                                          die_number(die, DW_AT_byte_size).value_or(kNone),
                                          die_number(die, DW_AT_decl_line).value_or(kNone)};
  return XXH3_64bits(look.data(), sizeof look);
}

/// An instance that inlined copies may refer to. Link-time optimisation leaves DW_AT_inline away, and GCC
/// calls a constructor not inlined, or refers from one without DW_AT_inline to that, where it was inlined.
bool is_abstract(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  if (dwarf_hasattr(&copy, DW_AT_inline) != 0) return true;
  return dwarf_hasattr(&copy, DW_AT_declaration) == 0 && dwarf_hasattr(&copy, DW_AT_low_pc) == 0 &&
         dwarf_hasattr(&copy, DW_AT_ranges) == 0;
}

std::uint64_t hash_of(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace

NameIndexBuilder::NameIndexBuilder(DebugUnits& units, DieRefs& refs) : refs_(refs), progress_(units) {
  for (DebugUnit& unit : units.all()) {
    progress_.unit();
    walk(unit.contents(), {}, is_c(unit.contents()));
    declared_.clear();
    prefixes_.clear();
  }
  units.let_go_of_pages();
}

void NameIndexBuilder::walk(const Dwarf_Die& scope, std::string_view prefix, bool c) {
  for_each_child(scope, [&](const Dwarf_Die& child) {
    progress_.entry();
    switch (die_tag(child)) {
      case DW_TAG_structure_type:
      case DW_TAG_class_type:
      case DW_TAG_union_type:
        add_type(child, prefix);
        if (!c) walk_named(child, prefix, c);
        return;
      case DW_TAG_typedef:
        return add_type(child, prefix);
      case DW_TAG_enumeration_type:
        if (!c && !die_name(child).empty()) add_enumeration(child, prefix);
        return;
      case DW_TAG_subprogram:
        return add_function(child, prefix);
      case DW_TAG_namespace:
      case DW_TAG_module:
        return walk_named(child, prefix, c);
      default:
        return;
    }
  });
}

void NameIndexBuilder::walk_named(const Dwarf_Die& scope, std::string_view prefix, bool c) {
  prefixes_.push_back(std::string(prefix) + scope_name(scope) + "::");
  walk(scope, prefixes_.back(), c);
}

std::string_view NameIndexBuilder::text(const ScopeRow& row) const {
  return {texts_->rows().data() + row.text, row.length};
}

/// What lies outside its class or namespace refers to its declaration inside.
std::string NameIndexBuilder::scope_around(const Dwarf_Die& die, std::string_view prefix) {
  const auto declaration = die_reference(die, DW_AT_specification);
  if (!declaration) return std::string(prefix);
  const DieRef ref = refs_.ref(*declaration);
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const std::uint32_t type = scope_of_type_.find(XXH3_64bits(&ref, sizeof ref), kNone,
                                                 [&](std::uint32_t row) { return scopes_[row].die == ref; });
  if (type != kNone) return std::string(text(scopes_[type]));
  const auto function = declared_.find(declaration->addr);
  return std::string(function != declared_.end() ? function->second : prefix);
}

void NameIndexBuilder::add_scope(DieRef type, std::string_view prefix) {
  const auto next = static_cast<std::uint32_t>(scopes_.size());
  if (scope_of_type_.find_or_add(XXH3_64bits(&type, sizeof type), next,
                                 [&](std::uint32_t row) { return scopes_[row].die == type; }) != next)
    return;
  const std::uint32_t same = scope_texts_.find_or_add(
      hash_of(prefix), next, [&](std::uint32_t row) { return text(scopes_[row]) == prefix; });
  const std::uint64_t at = same == next ? texts_->size() : scopes_[same].text;
  if (same == next) texts_->append(prefix);
  scopes_.push_back({.die = type, .text = at, .length = prefix.size()});
}

void NameIndexBuilder::add_type(const Dwarf_Die& die, std::string_view prefix) {
  const std::string_view name = die_name(die);
  if (name.empty()) return;
  const std::string around = scope_around(die, prefix);
  const DieRef ref = refs_.ref(die);
  if (!around.empty()) add_scope(ref, around);
  if (die_flag(die, DW_AT_declaration)) return;
  const bool plain = around.empty() && name.find('<') == std::string_view::npos;
  NameRow& row = types_.row(plain ? std::string(name) : normal_type_name(around + std::string(name)));
  types_.add_unlike(row, ref, look_of(die));
}

void NameIndexBuilder::add_enumeration(const Dwarf_Die& die, std::string_view prefix) {
  enumerations_.add(enumerations_.row(std::string(prefix) + std::string(die_name(die))), refs_.ref(die));
}

void NameIndexBuilder::add_function(const Dwarf_Die& die, std::string_view prefix) {
  if (!prefix.empty()) declared_.emplace(die.addr, prefix);
  if (!is_abstract(die)) return;
  const std::string_view name = die_name(die);
  const std::string_view linkage = die_linkage_name(die);
  const DieRef ref = refs_.ref(die);
  if (!linkage.empty() && linkage != name) add_function_name(linkage, linkage, ref);
  if (name.empty()) return;
  // One of an anonymous namespace has no linkage name: its plain name alone would be that of any other.
  const std::string around = scope_around(die, prefix);
  if (around.empty() || !linkage.empty()) add_function_name(name, linkage, ref);
  if (!around.empty()) add_function_name(around + std::string(name), linkage, ref);
}

/// Of the names that share an entry, one is what callers ask for; the others are qualified ones that it also
/// goes by.
void NameIndexBuilder::add_function_name(std::string_view name, std::string_view linkage, DieRef die) {
  NameRow& row = functions_.row(name);
  if (row.count == 0) row.linkage = linkage.empty() || linkage == name ? 1U : 0U;
  functions_.add(row, die);
}

TableFile NameIndexBuilder::tables() {
  struct All {
    std::shared_ptr<GrowingTable<char>> texts;
    GrowingTable<DieRef> dies;
    GrowingTable<NameRow> types;
    GrowingTable<NameRow> functions;
    GrowingTable<NameRow> enumerations;
    GrowingTable<ScopeRow> scopes;
  };
  auto all = std::make_shared<All>();
  scope_of_type_ = FlatIndex();
  scope_texts_ = FlatIndex();
  all->texts = texts_;
  all->types = types_.finish(all->dies, progress_);
  all->functions = functions_.finish(all->dies, progress_);
  all->enumerations = enumerations_.finish(all->dies, progress_);
  all->scopes = std::move(scopes_);
  std::sort(all->scopes.begin(), all->scopes.end(),
            [](const ScopeRow& a, const ScopeRow& b) { return a.die < b.die; });
  const std::array<std::span<const std::byte>, 6> parts{all->texts->bytes(),       all->dies.bytes(),
                                                        all->types.bytes(),        all->functions.bytes(),
                                                        all->enumerations.bytes(), all->scopes.bytes()};
  return {kNameIndexKind, kNameIndexVersion, parts, all};
}

}  // namespace refhist
