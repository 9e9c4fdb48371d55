// Places of members in struct, class and union types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "symbols/module.h"
#include "symbols/name_index.h"

namespace refhist {

class TypeMembers {
 public:
  explicit TypeMembers(const NameIndex& names) : names_(names) {}

  /// As Module::member.
  [[nodiscard]] std::optional<MemberPlace> member(std::string_view type, std::string_view path) const;
  /// As Module::member_at.
  [[nodiscard]] MemberAt member_at(std::string_view type, std::uint64_t offset) const;
  /// As Module::bit_field_at.
  [[nodiscard]] std::string bit_field_at(std::string_view type, std::uint64_t offset, unsigned bit) const;
  /// As Module::variable_at, of a variable of this type.
  [[nodiscard]] VariableAt in_variable(std::optional<Dwarf_Die> type, std::uint64_t offset) const;
  /// As Module::type_size.
  [[nodiscard]] std::optional<std::uint64_t> size(std::string_view type) const;
  /// As Module::wraps_pointer.
  [[nodiscard]] bool wraps_pointer(std::string_view type) const;
  /// As Module::embeds.
  [[nodiscard]] bool embeds(std::string_view type, std::string_view member) const;

 private:
  [[nodiscard]] std::vector<Dwarf_Die> find(std::string_view type) const;
  [[nodiscard]] bool has_inside(const Dwarf_Die& definition, std::string_view member, int depth) const;

  const NameIndex& names_;
};

}  // namespace refhist
