// Makes the tables of a NameIndex by one walk over the outer entries of all units, function bodies not
// included.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "symbols/debug_units.h"
#include "symbols/die_refs.h"
#include "symbols/index_progress.h"
#include "symbols/name_index.h"

namespace refhist {

class NameIndexBuilder {
 public:
  /// Throws Interrupted.
  explicit NameIndexBuilder(DebugUnits& units);

  [[nodiscard]] TableFile tables(DieRefs& refs);

 private:
  using Table = std::unordered_map<std::string_view, std::vector<Dwarf_Die>>;
  struct Scope {
    Dwarf_Die die;
    std::string_view name;
  };

  void walk(const Dwarf_Die& scope, std::string_view prefix, bool c, IndexProgress& progress);
  void walk_named(const Dwarf_Die& scope, std::string_view prefix, bool c, IndexProgress& progress);
  void add_type(const Dwarf_Die& die, std::string_view prefix);
  void add_function(const Dwarf_Die& die, std::string_view prefix);
  std::string_view scope_around(const Dwarf_Die& die, std::string_view prefix) const;
  std::string_view keep(std::string text);

  std::uint64_t put_text(std::string_view text);
  std::vector<NameRow> rows_of(const Table& table, DieRefs& refs);
  std::vector<ScopeRow> scope_rows(DieRefs& refs);

  Table types_;
  Table functions_;
  Table enumerations_;
  std::unordered_map<const void*, Scope> scopes_;               // of types, by the entry's address
  std::unordered_map<const void*, std::string_view> declared_;  // of functions of the unit being walked
  std::unordered_set<std::string> owned_;                       // texts that are not in the debug information
  std::vector<char> texts_;
  std::vector<DieRef> dies_;
};

}  // namespace refhist
