// Names of types and of inlined functions -> where the debug information describes them. Built by one walk
// over the outer entries of all units, function bodies not included.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "symbols/debug_units.h"
#include "symbols/index_progress.h"

namespace refhist {

class NameIndex {
 public:
  /// Throws Interrupted.
  explicit NameIndex(DebugUnits& units);

  /// Definitions (never mere declarations) of struct, class, union and typedef of this qualified name. Of
  /// several that look alike (one header in many units) only the first is kept.
  [[nodiscard]] const std::vector<Dwarf_Die>& types(std::string_view name) const;
  /// Abstract instances of functions that were inlined somewhere, by plain, linkage or qualified name.
  [[nodiscard]] const std::vector<Dwarf_Die>& inlined_functions(std::string_view name) const;
  /// Enumerators instead of numbers in template arguments, as clang names types: "(ns::Policy)2" becomes
  /// "ns::atomic". As it was when there is none.
  [[nodiscard]] std::string with_enumerators(std::string_view name) const;
  /// Their linkage names; plain ones in C. Sorted.
  [[nodiscard]] std::vector<std::string> inlined_names() const;
  /// "ns::" of a type inside a namespace or type; empty for the others.
  [[nodiscard]] std::string_view scope_of(const Dwarf_Die& type) const;

 private:
  using Table = std::unordered_map<std::string_view, std::vector<Dwarf_Die>>;

  void walk(const Dwarf_Die& scope, std::string_view prefix, bool c, IndexProgress& progress);
  void walk_named(const Dwarf_Die& scope, std::string_view prefix, bool c, IndexProgress& progress);
  void add_type(const Dwarf_Die& die, std::string_view prefix);
  void add_function(const Dwarf_Die& die, std::string_view prefix);
  std::string_view scope_around(const Dwarf_Die& die, std::string_view prefix) const;
  std::string_view keep(std::string text);

  Table types_;
  Table functions_;
  Table enumerations_;
  std::unordered_map<const void*, std::string_view> scopes_;    // of types, by the entry's address
  std::unordered_map<const void*, std::string_view> declared_;  // of functions of the unit being walked
  std::unordered_set<std::string> owned_;                       // texts that are not in the debug information
};

/// "Foo<int, char>" and "Foo<int,char>" are one name: without the spaces that separate nothing.
std::string normal_type_name(std::string_view name);

}  // namespace refhist
