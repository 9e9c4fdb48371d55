#include "symbols/type_members.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "symbols/type_spelling.h"

namespace refhist {

namespace {

constexpr int kMemberDepth = 16;  // of members in members; broken debug information can nest without end

struct Found {
  Dwarf_Die member;
  std::uint64_t offset = 0;
};

bool is_static_member(const Dwarf_Die& die) {
  return die_flag(die, DW_AT_external) || die_flag(die, DW_AT_declaration);
}

/// Nothing for a virtual base, whose place is only known at run time.
std::optional<std::uint64_t> own_offset(const Dwarf_Die& die, const Dwarf_Die& parent) {
  Dwarf_Die copy = die;
  if (dwarf_hasattr(&copy, DW_AT_data_member_location) != 0)
    return die_number(die, DW_AT_data_member_location);
  if (const auto bits = die_number(die, DW_AT_data_bit_offset)) return *bits / 8;
  return die_tag(parent) == DW_TAG_union_type || die_tag(die) == DW_TAG_member
             ? std::optional<std::uint64_t>(0)
             : std::nullopt;
}

/// What is looked into without being named: base classes and nameless struct and union members.
bool is_transparent(const Dwarf_Die& child) {
  return die_tag(child) == DW_TAG_inheritance || (die_tag(child) == DW_TAG_member && die_name(child).empty());
}

/// The definition of a struct that a type refers to; nothing when it is no struct.
std::optional<Dwarf_Die> struct_of(std::optional<Dwarf_Die> type) {
  type = strip_typedefs(type);
  return type && is_struct_like(*type) ? type : std::nullopt;
}

std::optional<Found> find_member(const Dwarf_Die& type, std::string_view name, int depth = 0) {
  std::optional<Found> found;
  if (depth > kMemberDepth || name.empty()) return found;
  for_each_child(type, [&](const Dwarf_Die& child) {
    if (found) return;
    const int tag = die_tag(child);
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || is_static_member(child)) return;
    const auto offset = own_offset(child, type);
    if (!offset) return;
    if (tag == DW_TAG_member && die_name(child) == name) {
      found = Found{child, *offset};
    } else if (is_transparent(child)) {
      const auto inner = struct_of(die_type(child));
      if (inner) found = find_member(*inner, name, depth + 1);
      if (found) found->offset += *offset;
    }
  });
  return found;
}

void collect_paths(const Dwarf_Die& type, const std::string& prefix, int depth,
                   std::vector<std::string>& paths) {
  if (depth > 3 || paths.size() > 2000) return;  // enough for a suggestion
  for_each_child(type, [&](const Dwarf_Die& child) {
    const int tag = die_tag(child);
    if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || is_static_member(child)) return;
    const auto inner = struct_of(die_type(child));
    std::string path = prefix;
    if (!is_transparent(child)) {
      path += (prefix.empty() ? "" : ".") + std::string(die_name(child));
      paths.push_back(path);
    }
    if (inner) collect_paths(*inner, path, depth + 1, paths);
  });
}

/// The path as it should have been: spelled alike, or the same last member at another place.
std::string suggest(const Dwarf_Die& type, std::string_view path) {
  std::vector<std::string> paths;
  collect_paths(type, {}, 0, paths);
  std::optional<std::string> best = nearest(path, paths);
  const std::string_view last =
      path.substr(path.rfind('.') == std::string_view::npos ? 0 : path.rfind('.') + 1);
  for (const std::string& candidate : paths) {
    const std::size_t dot = candidate.rfind('.');
    if (!best && dot != std::string::npos && candidate.substr(dot + 1) == last) best = candidate;
  }
  return best ? fmt::format(" (did you mean \"{}\"?)", *best) : std::string();
}

/// How messages call the type: its tag and the name that was asked for, or the typedef as it was asked for.
std::string label(const Dwarf_Die& type, std::string_view asked) {
  std::string_view bare = asked;
  for (const std::string_view word : {"struct ", "class ", "union "}) {
    if (bare.starts_with(word)) bare = trim(bare.substr(word.size()));
  }
  const std::string_view name = die_name(type);
  if (name.empty() || !normal_type_name(bare).ends_with(normal_type_name(name))) return std::string(asked);
  switch (die_tag(type)) {
    case DW_TAG_class_type:
      return fmt::format("class {}", bare);
    case DW_TAG_union_type:
      return fmt::format("union {}", bare);
    default:
      return fmt::format("struct {}", bare);
  }
}

bool is_empty_base(const Dwarf_Die& child) {
  if (die_tag(child) != DW_TAG_inheritance) return false;
  const auto base = struct_of(die_type(child));
  bool empty = base.has_value();
  const auto see = [&](const Dwarf_Die& one) {
    const int tag = die_tag(one);
    empty &= (tag != DW_TAG_member && tag != DW_TAG_inheritance) || is_static_member(one);
  };
  if (base) for_each_child(*base, see);
  return empty;
}

/// A struct that wraps one scalar, as atomic_t and std::atomic<int> do, counts as that scalar.
std::optional<Dwarf_Die> unwrapped(std::optional<Dwarf_Die> type) {
  for (int depth = 0; depth < kMemberDepth; ++depth) {
    type = strip_typedefs(type);
    if (!type || !is_struct_like(*type)) return type;
    std::optional<Dwarf_Die> only;
    int members = 0;
    for_each_child(*type, [&](const Dwarf_Die& child) {
      const int tag = die_tag(child);
      const bool holds = (tag == DW_TAG_member || tag == DW_TAG_inheritance) && !is_static_member(child);
      if (holds && !is_empty_base(child)) {
        ++members;
        only = die_type(child);
      }
    });
    if (members != 1) return type;
    type = only;
  }
  return type;
}

bool is_signed(std::optional<Dwarf_Die> type) {
  type = unwrapped(type);
  if (type && die_tag(*type) == DW_TAG_enumeration_type) type = strip_typedefs(die_type(*type));
  if (!type || die_tag(*type) != DW_TAG_base_type) return false;
  const auto encoding = die_number(*type, DW_AT_encoding);
  return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

std::optional<std::uint64_t> size_of(const Dwarf_Die& type) {
  Dwarf_Die copy = type;
  Dwarf_Word size = 0;
  return dwarf_aggregate_size(&copy, &size) == 0 ? std::optional<std::uint64_t>(size) : std::nullopt;
}

constexpr unsigned kByte = 8;  // bits

/// How far behind the member's own offset a bit-field begins, and how many bits it has.
struct BitField {
  unsigned first = 0;
  unsigned bits = 0;
};

/// Nothing for other members. Before DWARF 4, the bits are counted from the upper end of a word of the
/// field's type.
std::optional<BitField> bit_field(const Dwarf_Die& member) {
  constexpr std::uint64_t kMost = 64;
  const auto bits = die_number(member, DW_AT_bit_size);
  if (!bits || *bits == 0 || *bits > kMost) return std::nullopt;
  const auto width = static_cast<unsigned>(*bits);
  if (const auto first = die_number(member, DW_AT_data_bit_offset))
    return BitField{static_cast<unsigned>(*first % kByte), width};
  const auto type = die_type(member);
  const auto from_above = die_number(member, DW_AT_bit_offset);
  const auto told = die_number(member, DW_AT_byte_size);
  const auto size = told || !type ? told : size_of(*type);
  if (!from_above || !size || *size * kByte < *from_above + width) return std::nullopt;
  return BitField{static_cast<unsigned>(*size * kByte - *from_above) - width, width};
}

/// Bytes that the member covers.
std::optional<std::uint64_t> bytes_of(const Dwarf_Die& member) {
  if (const auto field = bit_field(member)) return (field->first + field->bits + kByte - 1) / kByte;
  const auto type = die_type(member);
  return type ? size_of(*type) : std::nullopt;
}

/// Compilers read and write the narrowest word that has all of the field, or a wider one. False when none
/// has.
bool place_bits(const BitField& field, MemberPlace& place) {
  const std::uint64_t first = kByte * place.offset + field.first;
  for (const std::uint32_t size : {1U, 2U, 4U, 8U}) {
    const std::uint64_t word = first / (kByte * size) * size;
    if (first + field.bits > kByte * (word + size)) continue;
    place.offset = word;
    place.size = size;
    const bool whole = field.bits == kByte * size;
    place.first_bit = static_cast<std::uint8_t>(first - kByte * word);
    place.bits = static_cast<std::uint8_t>(whole ? 0 : field.bits);
    return true;
  }
  return false;
}

/// The innermost member that covers an offset.
struct Covering {
  std::string path;
  std::optional<Dwarf_Die> type;
  std::optional<Dwarf_Die> inner;  ///< MemberAt::inner_type, and so on
  std::string inner_path;
  std::uint64_t inner_offset = 0;
};

Covering covering(const Dwarf_Die& type, std::uint64_t offset, int depth = 0);

/// Of a member of this type: what of it is at the offset.
Covering inside(const std::optional<Dwarf_Die>& type, std::uint64_t offset, int depth) {
  const auto plain = strip_typedefs(type);
  if (plain && die_tag(*plain) == DW_TAG_array_type) {
    const auto element = die_type(*plain);
    const auto size = element ? size_of(*element) : std::nullopt;
    if (!size || *size == 0 || depth > kMemberDepth) return {};
    Covering found = inside(element, offset % *size, depth + 1);
    found.path = found.path.empty() || found.path.starts_with('[') ? "[]" + found.path : "[]." + found.path;
    return found;
  }
  const auto inner = struct_of(type);
  Covering found = inner ? covering(*inner, offset, depth + 1) : Covering();
  if (!found.type) found.type = type;
  return found;
}

Covering covering(const Dwarf_Die& type, std::uint64_t offset, int depth) {
  Covering found;
  if (depth > kMemberDepth) return found;
  for_each_child(type, [&](const Dwarf_Die& child) {
    const int tag = die_tag(child);
    if (!found.path.empty() || (tag != DW_TAG_member && tag != DW_TAG_inheritance) || is_static_member(child))
      return;
    const auto begin = own_offset(child, type);
    const auto member_type = die_type(child);
    const auto size = bytes_of(child);
    if (!begin || !size || offset < *begin || offset >= *begin + *size) return;
    found = inside(member_type, offset - *begin, depth);
    const std::string name = is_transparent(child) ? std::string() : std::string(die_name(child));
    const bool dot = !name.empty() && !found.path.empty() && !found.path.starts_with('[');
    found.path = name + (dot ? "." : "") + found.path;
  });
  if (!found.path.empty() && !found.inner && !die_name(type).empty()) {
    found.inner = type;
    found.inner_path = found.path;
    found.inner_offset = offset;
  }
  return found;
}

std::optional<MemberPlace> walk_path(const Dwarf_Die& start, std::string_view path,
                                     const std::string& type_label) {
  Dwarf_Die type = start;
  MemberPlace place;
  std::string_view rest = path;
  auto found = find_member(type, rest);
  while (!found) {  // compilers make names with a dot ("_vptr.Base"), hence the whole rest first
    const std::size_t dot = rest.find('.');
    const auto outer = dot == std::string_view::npos ? std::nullopt : find_member(type, rest.substr(0, dot));
    const auto inner = outer ? struct_of(die_type(outer->member)) : std::nullopt;
    if (!inner) return std::nullopt;
    place.offset += outer->offset;
    type = *inner;
    rest.remove_prefix(dot + 1);
    found = find_member(type, rest);
  }
  place.offset += found->offset;
  const auto member_type = die_type(found->member);
  if (die_number(found->member, DW_AT_bit_size)) {
    place.is_signed = is_signed(member_type);
    const auto field = bit_field(found->member);
    if (field && place_bits(*field, place)) return place;
    fail(
        "{} member \"{}\" is a bit-field that no word of 8 bytes or less has all bits of: its count cannot "
        "be read",
        type_label, path);
  }
  place.size = static_cast<std::uint32_t>(member_type ? size_of(*member_type).value_or(0) : 0);
  place.is_signed = is_signed(member_type);
  return place;
}

}  // namespace

std::vector<Dwarf_Die> TypeMembers::find(std::string_view type) const {
  type = trim(type);
  std::optional<int> tag;
  for (const auto& [word, value] : {std::pair<std::string_view, int>{"struct ", DW_TAG_structure_type},
                                    {"class ", DW_TAG_class_type},
                                    {"union ", DW_TAG_union_type}}) {
    if (!type.starts_with(word)) continue;
    type = trim(type.substr(word.size()));
    tag = value;
  }
  if (type.starts_with("::")) type.remove_prefix(2);
  std::vector<Dwarf_Die> found = names_.types(normal_type_name(type));
  if (found.empty() && type.find("<") != std::string_view::npos)
    found = names_.types(normal_type_name(names_.with_enumerators(type)));
  // "struct" and "class" are one to C++; a typedef has neither before it.
  if (tag) std::erase_if(found, [](const Dwarf_Die& die) { return !is_struct_like(die); });
  std::stable_partition(found.begin(), found.end(), [](const Dwarf_Die& die) { return is_struct_like(die); });
  return found;
}

std::optional<MemberPlace> TypeMembers::member(std::string_view type, std::string_view path) const {
  std::optional<Dwarf_Die> known;
  for (const Dwarf_Die& candidate : find(type)) {
    const auto definition = struct_of(candidate);
    if (!definition || die_flag(*definition, DW_AT_declaration)) continue;
    if (const auto place = walk_path(*definition, trim(path), label(*definition, trim(type)))) return place;
    if (!known) known = definition;
  }
  if (!known) {
    // typedef of a struct that this unit only declares: its definition may be in another unit.
    for (const Dwarf_Die& candidate : find(type)) {
      const auto declared = strip_typedefs(candidate);
      if (!declared || !is_struct_like(*declared) || die_name(*declared).empty()) continue;
      const std::string name = names_.full_name(*declared);
      if (name != type && !find("struct " + name).empty()) return member("struct " + name, path);
    }
    return std::nullopt;
  }
  fail("{} has no member \"{}\"{}", label(*known, trim(type)), trim(path), suggest(*known, trim(path)));
}

MemberAt TypeMembers::member_at(std::string_view type, std::uint64_t offset) const {
  for (const Dwarf_Die& candidate : find(type)) {
    const auto definition = struct_of(candidate);
    if (!definition || die_flag(*definition, DW_AT_declaration)) continue;
    Covering found = covering(*definition, offset);
    if (found.path.empty()) continue;
    MemberAt member{std::move(found.path), TypeSpelling(names_, false).pointee(found.type), {}, {}, 0};
    if (found.inner) {
      member.inner_type = names_.full_name(*found.inner);
      member.inner_path = std::move(found.inner_path);
      member.inner_offset = found.inner_offset;
    }
    return member;
  }
  return {};
}

namespace {

/// `bit`: counted from the beginning of the type.
std::string bit_field_in(const Dwarf_Die& type, std::uint64_t bit, int depth = 0) {
  std::string path;
  if (depth > kMemberDepth) return path;
  for_each_child(type, [&](const Dwarf_Die& child) {
    const int tag = die_tag(child);
    if (!path.empty() || (tag != DW_TAG_member && tag != DW_TAG_inheritance) || is_static_member(child))
      return;
    const auto begin = own_offset(child, type);
    if (!begin) return;
    const std::string name = is_transparent(child) ? std::string() : std::string(die_name(child));
    const auto field = bit_field(child);
    if (field && kByte * *begin + field->first == bit) path = name;
    const auto inner = field || bit < kByte * *begin ? std::nullopt : struct_of(die_type(child));
    if (!inner) return;
    path = bit_field_in(*inner, bit - kByte * *begin, depth + 1);
    if (!path.empty() && !name.empty()) path = name + "." + path;
  });
  return path;
}

}  // namespace

std::string TypeMembers::bit_field_at(std::string_view type, std::uint64_t offset, unsigned bit) const {
  for (const Dwarf_Die& candidate : find(type)) {
    const auto definition = struct_of(candidate);
    if (!definition || die_flag(*definition, DW_AT_declaration)) continue;
    std::string path = bit_field_in(*definition, kByte * offset + bit);
    if (!path.empty()) return path;
  }
  return {};
}

VariableAt TypeMembers::in_variable(std::optional<Dwarf_Die> type, std::uint64_t offset) const {
  VariableAt found{.known = true, .name = {}, .type = {}, .offset = offset, .pointee = {}};
  type = strip_typedefs(type);
  auto plain = type;
  for (int depth = 0; plain && die_tag(*plain) == DW_TAG_array_type && depth < kMemberDepth; ++depth) {
    found.element = true;
    type = die_type(*plain);
    const auto size = type ? size_of(*type) : std::nullopt;
    if (!size || *size == 0) return {};
    found.offset %= *size;
    plain = strip_typedefs(type);
  }
  if (!plain) return {};
  if (is_struct_like(*plain)) {
    found.type = names_.full_name(*type);
  } else {
    found.pointee = TypeSpelling(names_, false).pointee(type);
  }
  return found;
}

std::optional<std::uint64_t> TypeMembers::size(std::string_view type) const {
  for (const Dwarf_Die& candidate : find(type)) {
    const auto definition = strip_typedefs(candidate);
    if (!definition) continue;
    if (!die_flag(*definition, DW_AT_declaration)) return size_of(*definition);
    const std::string name = names_.full_name(*definition);
    for (const Dwarf_Die& other : find("struct " + name)) return size_of(other);
  }
  return std::nullopt;
}

bool TypeMembers::wraps_pointer(std::string_view type) const {
  for (const Dwarf_Die& candidate : find(type)) {
    const auto definition = struct_of(candidate);
    if (!definition || die_flag(*definition, DW_AT_declaration)) continue;
    const auto only = unwrapped(definition);
    return only && die_tag(*only) == DW_TAG_pointer_type;
  }
  return false;
}

bool TypeMembers::embeds(std::string_view type, std::string_view member) const {
  for (const Dwarf_Die& candidate : find(type)) {
    const auto definition = struct_of(candidate);
    if (definition && has_inside(*definition, member, 0)) return true;
  }
  return false;
}

bool TypeMembers::has_inside(const Dwarf_Die& definition, std::string_view member, int depth) const {
  constexpr int kDeepest = 4;  // a counter in a base of a member of a base
  bool found = false;
  for_each_child(definition, [&](const Dwarf_Die& child) {
    const bool base = die_tag(child) == DW_TAG_inheritance;
    if (found || (!base && (die_tag(child) != DW_TAG_member || is_static_member(child)))) return;
    const auto held = struct_of(die_type(child));
    if (!held) return;
    found = die_name(*held) == member || names_.full_name(*held) == member ||
            (depth < kDeepest && has_inside(*held, member, depth + 1));
  });
  return found;
}

}  // namespace refhist
