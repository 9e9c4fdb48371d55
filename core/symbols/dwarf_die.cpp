#include "symbols/dwarf_die.h"

#include <cstdlib>

namespace refhist {

namespace {

std::string_view text(Dwarf_Attribute* attribute) {
  const char* found = attribute == nullptr ? nullptr : dwarf_formstring(attribute);
  return found == nullptr ? std::string_view() : std::string_view(found);
}

std::optional<std::uint64_t> number(Dwarf_Attribute* attribute) {
  if (attribute == nullptr) return std::nullopt;
  bool flag = false;
  if (dwarf_formflag(attribute, &flag) == 0) return flag ? 1 : 0;
  Dwarf_Word word = 0;
  if (dwarf_formudata(attribute, &word) == 0) return word;
  Dwarf_Sword sword = 0;
  if (dwarf_formsdata(attribute, &sword) == 0) return static_cast<std::uint64_t>(sword);
  return std::nullopt;
}

std::optional<Dwarf_Die> referred(Dwarf_Attribute* attribute) {
  Dwarf_Die die;
  if (attribute == nullptr || dwarf_formref_die(attribute, &die) == nullptr) return std::nullopt;
  // A stand-in for a type that has a unit of its own.
  Dwarf_Attribute memory;
  Dwarf_Die definition;
  Dwarf_Attribute* signature = dwarf_attr(&die, DW_AT_signature, &memory);
  if (signature != nullptr && dwarf_formref_die(signature, &definition) != nullptr) return definition;
  return die;
}

}  // namespace

std::string scope_name(const Dwarf_Die& die) {
  const std::string_view name = die_name(die);
  if (!name.empty()) return std::string(name);
  return die_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : "{unnamed type}";
}

std::string_view die_name(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  Dwarf_Attribute memory;
  return text(dwarf_attr_integrate(&copy, DW_AT_name, &memory));
}

std::string_view die_linkage_name(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  Dwarf_Attribute memory;
  Dwarf_Attribute* found = dwarf_attr_integrate(&copy, DW_AT_linkage_name, &memory);
  if (found == nullptr) found = dwarf_attr_integrate(&copy, DW_AT_MIPS_linkage_name, &memory);
  return text(found);
}

std::optional<std::uint64_t> die_number(const Dwarf_Die& die, unsigned attribute) {
  Dwarf_Die copy = die;
  Dwarf_Attribute memory;
  return number(dwarf_attr(&copy, attribute, &memory));
}

std::optional<std::uint64_t> die_number_integrated(const Dwarf_Die& die, unsigned attribute) {
  Dwarf_Die copy = die;
  Dwarf_Attribute memory;
  return number(dwarf_attr_integrate(&copy, attribute, &memory));
}

bool die_flag(const Dwarf_Die& die, unsigned attribute) {
  return die_number(die, attribute).value_or(0) != 0;
}

std::optional<Dwarf_Die> die_reference(const Dwarf_Die& die, unsigned attribute) {
  Dwarf_Die copy = die;
  Dwarf_Attribute memory;
  return referred(dwarf_attr(&copy, attribute, &memory));
}

std::optional<Dwarf_Die> die_reference_integrated(const Dwarf_Die& die, unsigned attribute) {
  Dwarf_Die copy = die;
  Dwarf_Attribute memory;
  return referred(dwarf_attr_integrate(&copy, attribute, &memory));
}

std::optional<Dwarf_Die> die_type(const Dwarf_Die& die) { return die_reference_integrated(die, DW_AT_type); }

std::optional<Dwarf_Die> strip_typedefs(std::optional<Dwarf_Die> type) {
  // Bounded: broken debug information can have a typedef of itself.
  for (int depth = 0; type && depth < 64; ++depth) {
    switch (die_tag(*type)) {
      case DW_TAG_typedef:
      case DW_TAG_const_type:
      case DW_TAG_volatile_type:
      case DW_TAG_restrict_type:
      case DW_TAG_atomic_type:
        type = die_reference(*type, DW_AT_type);
        break;
      default:
        return type;
    }
  }
  return std::nullopt;
}

std::optional<Address> die_entry(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  Dwarf_Addr entry = 0;
  // GCC's entry of an inlined copy can lie outside the copy (its first instruction was moved): of no use
  // then.
  if (dwarf_hasattr(&copy, DW_AT_entry_pc) != 0 && dwarf_entrypc(&copy, &entry) == 0 &&
      dwarf_haspc(&copy, entry) == 1) {
    return entry;
  }
  if (dwarf_hasattr(&copy, DW_AT_low_pc) != 0 && dwarf_lowpc(&copy, &entry) == 0) return entry;
  // The first range, which need not be the lowest: the cold part of a function can lie before the function.
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&copy, at, &base, &begin, &end)) > 0;) {
    if (begin < end) return begin;
  }
  return std::nullopt;
}

std::optional<Address> fixed_address(const Dwarf_Die& variable) {
  Dwarf_Die copy = variable;
  Dwarf_Attribute attribute;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  const bool one = dwarf_attr(&copy, DW_AT_location, &attribute) != nullptr &&
                   dwarf_getlocation(&attribute, &operations, &count) == 0 && count == 1;
  return one ? address_in(&attribute, operations[0]) : std::nullopt;
}

std::optional<Address> address_in(Dwarf_Attribute* attribute, const Dwarf_Op& operation) {
  if (operation.atom == DW_OP_addr) return operation.number;
  if (operation.atom != DW_OP_addrx && operation.atom != DW_OP_GNU_addr_index) return std::nullopt;
  Dwarf_Attribute entry;
  Dwarf_Addr address = 0;
  const bool known =
      dwarf_getlocation_attr(attribute, &operation, &entry) == 0 && dwarf_formaddr(&entry, &address) == 0;
  return known ? std::optional<Address>(address) : std::nullopt;
}

std::vector<FileRange> die_ranges(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  std::vector<FileRange> ranges;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&copy, at, &base, &begin, &end)) > 0;) {
    if (begin < end) ranges.push_back({begin, end});
  }
  return ranges;
}

bool is_pointer_like(int tag) {
  return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

bool is_inner_scope(int tag) {
  return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
         tag == DW_TAG_catch_block;
}

bool is_struct_like(const Dwarf_Die& die) {
  const int tag = die_tag(die);
  return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

bool is_namespace_like(const Dwarf_Die& die) {
  const int tag = die_tag(die);
  return tag == DW_TAG_namespace || tag == DW_TAG_module;
}

bool is_c(const Dwarf_Die& die) {
  Dwarf_Die copy = die;
  Dwarf_Die unit;
  if (dwarf_diecu(&copy, &unit, nullptr, nullptr) == nullptr) return false;
  constexpr int kC17 = 0x2c;  // younger than this dwarf.h
  switch (dwarf_srclang(&unit)) {
    case DW_LANG_C89:
    case DW_LANG_C:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
    case kC17:
      return true;
    default:
      return false;
  }
}

std::string qualified_name(const Dwarf_Die& die) {
  Dwarf_Die declared = die;
  for (int depth = 0; depth < 8; ++depth) {  // an abstract origin can itself have a specification
    auto next = die_reference(declared, DW_AT_abstract_origin);
    if (!next) next = die_reference(declared, DW_AT_specification);
    if (!next) break;
    declared = *next;
  }
  std::string name(die_name(declared));
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes_die(&declared, &scopes);
  for (int i = 1; i < count; ++i) {
    if (is_namespace_like(scopes[i]) || is_struct_like(scopes[i])) name = scope_name(scopes[i]) + "::" + name;
  }
  if (count > 0) std::free(scopes);
  return name;
}

}  // namespace refhist
