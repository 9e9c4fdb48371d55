// Types of the debug information as C and C++ spell them.
#pragma once

#include <optional>
#include <string>

#include "symbols/name_index.h"

namespace refhist {

class TypeSpelling {
 public:
  /// `c`: the user's language is C, so tags are spelled ("struct conn *").
  TypeSpelling(const NameIndex& names, bool c) : names_(names), c_(c) {}

  /// "const struct conn *", "int (*)(void *)", "ns::Foo<int> &"; nothing is "void".
  [[nodiscard]] std::string spell(const std::optional<Dwarf_Die>& type) const;
  /// Name of the struct, class, union or of a typedef of one that the type is a pointer or reference to,
  /// through typedefs; empty otherwise.
  [[nodiscard]] std::string pointee(std::optional<Dwarf_Die> type) const;
  /// Nothing, a number or an enumerator, through typedefs.
  [[nodiscard]] static bool is_number(std::optional<Dwarf_Die> type);
  /// A pointer or reference to a pointer.
  [[nodiscard]] static bool is_pointer(std::optional<Dwarf_Die> type);
  [[nodiscard]] static bool leads_to_pointer(std::optional<Dwarf_Die> type);

 private:
  [[nodiscard]] std::string declare(std::optional<Dwarf_Die> type, std::string declarator, int depth) const;
  [[nodiscard]] std::string base_name(const Dwarf_Die& type) const;
  [[nodiscard]] std::string arguments(const Dwarf_Die& function, int depth) const;

  const NameIndex& names_;
  bool c_ = false;
};

}  // namespace refhist
