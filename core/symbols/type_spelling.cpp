#include "symbols/type_spelling.h"

namespace refhist {

namespace {

constexpr int kSpellingDepth = 32;

std::string separated(std::string base, const std::string& declarator) {
  if (declarator.empty()) return base;
  return std::move(base) + (declarator.front() == '[' ? "" : " ") + declarator;
}

/// "*" and "&" bind less tightly than "[]" and "()", so a pointer to those needs parentheses.
std::string parenthesised(const std::optional<Dwarf_Die>& target, std::string declarator) {
  const int tag = target ? die_tag(*target) : 0;
  if (tag != DW_TAG_array_type && tag != DW_TAG_subroutine_type) return declarator;
  return "(" + std::move(declarator) + ")";
}

std::string dimensions(const Dwarf_Die& array) {
  std::string text;
  for_each_child(array, [&](const Dwarf_Die& child) {
    if (die_tag(child) != DW_TAG_subrange_type) return;
    auto count = die_number(child, DW_AT_count);
    if (const auto bound = die_number(child, DW_AT_upper_bound); !count && bound) count = *bound + 1;
    text += count ? "[" + std::to_string(*count) + "]" : "[]";
  });
  return text;
}

const char* qualifier(int tag) {
  switch (tag) {
    case DW_TAG_const_type:
      return "const";
    case DW_TAG_volatile_type:
      return "volatile";
    case DW_TAG_restrict_type:
      return "restrict";
    case DW_TAG_atomic_type:
      return "_Atomic";
    default:
      return nullptr;
  }
}

}  // namespace

std::string TypeSpelling::spell(const std::optional<Dwarf_Die>& type) const { return declare(type, {}, 0); }

std::string TypeSpelling::declare(std::optional<Dwarf_Die> type, std::string declarator, int depth) const {
  if (!type || depth > kSpellingDepth) return separated(type ? "?" : "void", declarator);
  const int tag = die_tag(*type);
  const auto target = die_type(*type);
  if (const char* word = qualifier(tag)) {
    if (target && is_pointer_like(die_tag(*target))) {
      return declare(target, separated(word, declarator), depth + 1);  // int *const
    }
    return std::string(word) + " " + declare(target, std::move(declarator), depth + 1);
  }
  switch (tag) {
    case DW_TAG_pointer_type:
      return declare(target, parenthesised(target, "*" + std::move(declarator)), depth + 1);
    case DW_TAG_reference_type:
      return declare(target, parenthesised(target, "&" + std::move(declarator)), depth + 1);
    case DW_TAG_rvalue_reference_type:
      return declare(target, parenthesised(target, "&&" + std::move(declarator)), depth + 1);
    case DW_TAG_array_type:
      return declare(target, std::move(declarator) + dimensions(*type), depth + 1);
    case DW_TAG_subroutine_type:
      return declare(target, std::move(declarator) + "(" + arguments(*type, depth + 1) + ")", depth + 1);
    default:
      return separated(base_name(*type), declarator);
  }
}

std::string TypeSpelling::arguments(const Dwarf_Die& function, int depth) const {
  std::string text;
  const auto append = [&](const std::string& next) { text += (text.empty() ? "" : ", ") + next; };
  for_each_child(function, [&](const Dwarf_Die& child) {
    if (die_tag(child) == DW_TAG_formal_parameter) append(declare(die_type(child), {}, depth));
    if (die_tag(child) == DW_TAG_unspecified_parameters) append("...");
  });
  return text.empty() && c_ && die_flag(function, DW_AT_prototyped) ? "void" : text;
}

std::string TypeSpelling::base_name(const Dwarf_Die& type) const {
  std::string name = names_.full_name(type);
  const char* tag = "";
  switch (die_tag(type)) {
    case DW_TAG_structure_type:
      tag = "struct";
      break;
    case DW_TAG_class_type:
      tag = "class";
      break;
    case DW_TAG_union_type:
      tag = "union";
      break;
    case DW_TAG_enumeration_type:
      tag = "enum";
      break;
    default:
      break;
  }
  if (name.empty()) return *tag == '\0' ? "?" : std::string(tag) + " {...}";
  return c_ && *tag != '\0' ? std::string(tag) + " " + name : name;
}

std::string TypeSpelling::pointee(std::optional<Dwarf_Die> type) const {
  type = strip_typedefs(type);
  if (!type || !is_pointer_like(die_tag(*type))) return {};
  auto target = die_type(*type);
  while (target && qualifier(die_tag(*target)) != nullptr) target = die_type(*target);
  const auto definition = strip_typedefs(target);
  if (!definition || !is_struct_like(*definition)) return {};
  return names_.full_name(*target);
}

bool TypeSpelling::is_number(std::optional<Dwarf_Die> type) {
  type = strip_typedefs(type);
  return !type || die_tag(*type) == DW_TAG_base_type || die_tag(*type) == DW_TAG_enumeration_type;
}

bool TypeSpelling::is_pointer(std::optional<Dwarf_Die> type) {
  type = strip_typedefs(type);
  return type && is_pointer_like(die_tag(*type));
}

bool TypeSpelling::leads_to_pointer(std::optional<Dwarf_Die> type) {
  type = strip_typedefs(type);
  if (!type || !is_pointer_like(die_tag(*type))) return false;
  const auto target = strip_typedefs(die_type(*type));
  return target && is_pointer_like(die_tag(*target));
}

}  // namespace refhist
