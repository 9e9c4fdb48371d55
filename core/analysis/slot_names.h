// What the source calls a place in memory that a function's code stores a pointer to, or loads one from.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/function_ways.h"
#include "x86/code_graph.h"

namespace refhist {

class SlotNames {
 public:
  explicit SlotNames(CodeGraph& graph) : graph_(graph) {}

  struct Name {
    std::string
        text;  ///< "conn->reply", "cache", "open_conn()->reply"; "[arg1+0x18]" without debug information
    // The same for all code that means such a place, whatever its variables are called.
    std::string holder;  ///< type of what has it as a member, or the global variable; empty when not known
    std::string member;  ///< empty where it is one of an array, whichever
    bool on_some_paths = false;  ///< the function may also leave without having stored the pointer there
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
  static Base argument(unsigned number, const Module& module, Address function);
  Base result(const Module& module, std::optional<Address> called);
  static Name global(const Slot& slot, const Module& module);
  static Name behind(const Base& base, const Slot& slot);

  CodeGraph& graph_;
};

}  // namespace refhist
