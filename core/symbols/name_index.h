// Names of types and of inlined functions -> where the debug information describes them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/die_refs.h"
#include "symbols/table_file.h"

namespace refhist {

inline constexpr std::uint32_t kNameIndexKind = 1;
inline constexpr std::uint32_t kNameIndexVersion = 2;

/// A name and what goes by it.
struct NameRow {
  std::uint64_t text = 0;     ///< where in the table of texts
  std::uint64_t first = 0;    ///< of its entries, in the table of entries
  std::uint32_t length = 0;   ///< of the text
  std::uint32_t count = 0;    ///< of the entries
  std::uint32_t linkage = 0;  ///< 1: a function's linkage name; in C its plain one
  std::uint32_t unused = 0;
};

/// "ns::" of a type inside a namespace or type.
struct ScopeRow {
  DieRef die = 0;
  std::uint64_t text = 0;
  std::uint64_t length = 0;
};

class NameIndex {
 public:
  /// The tables that a NameIndexBuilder makes. `refs` is asked for only where a name is found.
  NameIndex(TableFile tables, std::function<DieRefs&()> refs)
      : tables_(std::move(tables)), refs_(std::move(refs)) {}

  /// Definitions (never mere declarations) of struct, class, union and typedef of this qualified name. Of
  /// several that look alike (one header in many units) only the first is kept.
  [[nodiscard]] std::vector<Dwarf_Die> types(std::string_view name) const;
  /// Abstract instances of functions that were inlined somewhere, by plain, linkage or qualified name.
  [[nodiscard]] std::vector<Dwarf_Die> inlined_functions(std::string_view name) const;
  /// Enumerators instead of numbers in template arguments, as clang names types: "(ns::Policy)2" becomes
  /// "ns::atomic". As it was when there is none.
  [[nodiscard]] std::string with_enumerators(std::string_view name) const;
  /// Their linkage names; plain ones in C. Sorted.
  [[nodiscard]] std::vector<std::string> inlined_names() const;
  /// Those that have the text in them, looked for once for each text.
  [[nodiscard]] const std::vector<std::string>& inlined_names_with(std::string_view text) const;
  /// "ns::" of a type inside a namespace or type; empty for the others.
  [[nodiscard]] std::string_view scope_of(const Dwarf_Die& type) const;
  /// With that.
  [[nodiscard]] std::string full_name(const Dwarf_Die& type) const;

  /// The tables, in this order.
  enum Part : std::size_t { kTexts, kDies, kTypes, kFunctions, kEnumerations, kScopes };

 private:
  [[nodiscard]] std::string_view text(const NameRow& row) const {
    return tables_.text(kTexts, row.text, row.length);
  }
  [[nodiscard]] std::vector<Dwarf_Die> find(Part part, std::string_view name) const;

  TableFile tables_;
  std::function<DieRefs&()> refs_;
  mutable std::map<std::string, std::vector<std::string>, std::less<>> names_with_;
};

/// "Foo<int, char>" and "Foo<int,char>" are one name: without the spaces that separate nothing.
std::string normal_type_name(std::string_view name);

}  // namespace refhist
