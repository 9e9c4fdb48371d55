// What libdw's attribute calls lack: names and numbers of a debug information entry (DIE) in one call each.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "symbols/module.h"

namespace refhist {

/// DW_AT_name, through DW_AT_abstract_origin and DW_AT_specification; empty when none. Lives as long as the
/// Dwarf.
std::string_view die_name(const Dwarf_Die& die);
/// DW_AT_linkage_name in the same way.
std::string_view die_linkage_name(const Dwarf_Die& die);

/// Name of a namespace or type as a part of other names, as demanglers write the nameless ones.
std::string scope_name(const Dwarf_Die& die);

/// An unsigned or flag attribute of the entry itself.
std::optional<std::uint64_t> die_number(const Dwarf_Die& die, unsigned attribute);
/// The same through abstract origin and specification.
std::optional<std::uint64_t> die_number_integrated(const Dwarf_Die& die, unsigned attribute);
bool die_flag(const Dwarf_Die& die, unsigned attribute);

/// The entry that an attribute refers to; of the entry itself, or integrated.
std::optional<Dwarf_Die> die_reference(const Dwarf_Die& die, unsigned attribute);
std::optional<Dwarf_Die> die_reference_integrated(const Dwarf_Die& die, unsigned attribute);
/// DW_AT_type (integrated); nothing is void.
std::optional<Dwarf_Die> die_type(const Dwarf_Die& die);

/// Without typedef, const, volatile, restrict and _Atomic.
std::optional<Dwarf_Die> strip_typedefs(std::optional<Dwarf_Die> type);

/// Where the entry's code begins: DW_AT_entry_pc (if inside), DW_AT_low_pc or the first range; nothing when
/// it has no code.
std::optional<Address> die_entry(const Dwarf_Die& die);

/// Where a variable is whose location is one address, for the whole run; nothing for others.
std::optional<Address> fixed_address(const Dwarf_Die& variable);

/// What the operation of the attribute's expression pushes, where that is the address of code or data.
std::optional<Address> address_in(Dwarf_Attribute* attribute, const Dwarf_Op& operation);

/// Where its code is.
std::vector<FileRange> die_ranges(const Dwarf_Die& die);

bool is_pointer_like(int tag);  ///< a pointer or a reference
/// Scopes inside of a function that hold code of their own: blocks, and inlined copies.
bool is_inner_scope(int tag);
bool is_struct_like(const Dwarf_Die& die);     ///< struct, class or union
bool is_namespace_like(const Dwarf_Die& die);  ///< namespace or module
/// True when the unit that holds the entry is in C: no namespaces, and "struct" belongs to a type's spelling.
bool is_c(const Dwarf_Die& die);
/// "ns::Outer::name" of a function or type, by the entries around its declaration (slow: walks the unit).
std::string qualified_name(const Dwarf_Die& die);

/// Calls `visit(child)` for every child.
template <class Visit>
void for_each_child(const Dwarf_Die& parent, Visit&& visit) {
  Dwarf_Die parent_copy = parent;
  Dwarf_Die child;
  if (dwarf_child(&parent_copy, &child) != 0) return;
  do visit(child);
  while (dwarf_siblingof(&child, &child) == 0);
}

inline int die_tag(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  return dwarf_tag(&copy);
}

}  // namespace refhist
