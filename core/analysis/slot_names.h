// What the source calls a place in memory that a function's code stores a pointer to, or loads one from.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/slot.h"
#include "x86/code_graph.h"

namespace refhist {

class SlotNames {
 public:
  explicit SlotNames(CodeGraph& graph) : graph_(graph) {}

  struct Name {
    std::string
        text;  ///< "conn->reply", "cache", "open_conn()->reply"; "[arg1+0x18]" without debug information
    // The same for all code that means such a place, whatever its variables are called.
    std::string holder;   ///< type of what has it as a member, or the global variable; empty when not known
    std::string member;   ///< empty where it is one of an array, whichever
    bool points = false;  ///< the member is a pointer to a struct
    bool links = false;   ///< to one of the holder's type, as in a list
    std::int64_t offset = 0;  ///< the last of Slot::steps; of an array's element, of the first one
    // The same of the innermost struct that it lies in, where that is another one; else empty.
    std::string inner_holder = {};
    std::string inner_member = {};
    std::int64_t inner_offset = 0;
    bool on_some_paths = false;  ///< the function may also leave without having stored the pointer there
    /// Code that has the inner struct alone names the place by that.
    [[nodiscard]] bool same_place(const Name& other) const {
      const bool own_inside = !inner_holder.empty() && inner_holder == other.holder;
      const bool others_inside = !other.inner_holder.empty() && other.inner_holder == holder;
      return (holder == other.holder && member == other.member) ||
             (own_inside && inner_member == other.member) || (others_inside && other.inner_member == member);
    }
    /// One of an array of pointers, whichever.
    [[nodiscard]] bool is_element() const { return points && member.find("[]") != std::string::npos; }
  };
  /// Of code of the function that begins at `function`; `called`: what the slot's result is of. Empty when it
  /// is not known whence the code comes to it.
  Name name(const Slot& slot, const Module& module, Address function, std::optional<Address> called);

 private:
  struct Base {
    std::string name;
    std::string points_at;  ///< type; empty when not known
    const Module* module = nullptr;
  };
  static std::optional<Base> parameter(unsigned number, const Module& module, Address function);
  static Base argument(unsigned number, const Module& module, Address function, Address code);
  Base result(const Module& module, std::optional<Address> called);
  using Steps = std::span<const std::int64_t>;
  /// From a place of that name, which points at the type.
  static Name follow(Name name, std::string type, const Module& module, const Steps& steps);
  Name by_root(const Slot& slot, const Module& module, Address function, std::optional<Address> called);
  /// By a variable that has the address of what the slot lies in.
  static Name behind_variable(const Slot& slot, const Module& module);
  /// By one that had it shortly before.
  Name before_variable(const Slot& slot, const Module& module, Address function);
  static Name by_variables(const Slot& slot, const std::vector<ValuePlaces>& bases, Address at,
                           const Module& module);
  static Name behind_one(const Slot& slot, std::size_t step, const ValuePlaces& base,
                         const std::vector<LocalPointer>& variables, const Module& module);
  /// The innermost struct that the member lies in, where that is not the holder.
  static void set_inner(Name& name, const MemberAt& member);
  static Name global(const Slot& slot, const Module& module);
  static Name behind(const Base& base, const Slot& slot);

  struct Instructions {
    std::vector<Address> all;   // in order
    std::set<Address> targets;  // of jumps
  };
  /// Of the function that begins there.
  const Instructions& instructions(const Module& module, Address function);

  CodeGraph& graph_;
  std::map<std::pair<const Module*, Address>, Instructions> instructions_;
};

}  // namespace refhist
