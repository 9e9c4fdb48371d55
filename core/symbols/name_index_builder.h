// Makes the tables of a NameIndex by one walk over the outer entries of all units, function bodies not
// included. What is found goes straight into what will be the index, so that making it takes little more
// memory than it has.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "symbols/debug_units.h"
#include "symbols/die_refs.h"
#include "symbols/flat_index.h"
#include "symbols/growing_table.h"
#include "symbols/index_progress.h"
#include "symbols/name_index.h"
#include "symbols/name_table.h"

namespace refhist {

class NameIndexBuilder {
 public:
  /// Throws Interrupted.
  NameIndexBuilder(DebugUnits& units, DieRefs& refs);

  /// To be called once. Throws Interrupted.
  [[nodiscard]] TableFile tables();

 private:
  void walk(const Dwarf_Die& scope, std::string_view prefix, bool c);
  void walk_named(const Dwarf_Die& scope, std::string_view prefix, bool c);
  void add_type(const Dwarf_Die& die, std::string_view prefix);
  void add_enumeration(const Dwarf_Die& die, std::string_view prefix);
  void add_function(const Dwarf_Die& die, std::string_view prefix);
  void add_function_name(std::string_view name, std::string_view linkage, DieRef die);
  void add_scope(DieRef type, std::string_view prefix);
  [[nodiscard]] std::string scope_around(const Dwarf_Die& die, std::string_view prefix);
  [[nodiscard]] std::string_view text(const ScopeRow& row) const;

  DieRefs& refs_;
  IndexProgress progress_;
  std::shared_ptr<GrowingTable<char>> texts_ = std::make_shared<GrowingTable<char>>();
  NameTable types_{*texts_};
  NameTable functions_{*texts_};
  NameTable enumerations_{*texts_};
  GrowingTable<ScopeRow> scopes_;  // of types
  FlatIndex scope_of_type_;        // rows of scopes_
  FlatIndex scope_texts_;          // the first row of scopes_ that has the text
  // Of functions of the unit being walked, by the entry's address.
  std::unordered_map<const void*, std::string_view> declared_;
  std::deque<std::string> prefixes_;  // of the unit being walked
};

}  // namespace refhist
