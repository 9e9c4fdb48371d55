// What an object really is: GLib's name of its class, CPython's of its type, or the C++ class of its virtual
// table. Families say which (Family::dynamic_type); a virtual table is looked for in all others.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "events/program_view.h"
#include "families/family.h"
#include "symbols/module_map.h"

namespace refhist {

class DynamicTypes {
 public:
  explicit DynamicTypes(const ModuleMap& modules) : modules_(modules) {}

  /// Empty when it is not known, or no more than the family's own type.
  std::string of(const ProgramView& program, const Family& family, Address object);
  /// The C++ class whose virtual table the object begins with; `begin`: of the complete object. Empty when it
  /// begins with something else.
  std::string of_virtual_table(const ProgramView& program, Address object, Address& begin);
  /// Another program begins.
  void forget();

 private:
  /// The offset of a type's name in GLib's TypeNode, and where GLib has the table of all such names; as the
  /// code of GLib says, since no header does.
  struct GTypeNames {
    std::uint64_t quark_offset = 0;
    Address quarks = 0;
  };
  std::string of_gtype(const ProgramView& program, Address gtype);
  std::string of_python(const ProgramView& program, Address type);
  const std::optional<GTypeNames>& gtype_names();

  const ModuleMap& modules_;
  std::unordered_map<Address, std::string> names_;  ///< by class or type, or table; empty: no name
  std::optional<std::optional<GTypeNames>> gtype_names_;
};

}  // namespace refhist
