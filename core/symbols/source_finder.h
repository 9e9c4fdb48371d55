// Address -> source frames: the function, what was inlined into it there, and the line of each.
#pragma once

#include <unordered_map>
#include <vector>

#include "symbols/debug_units.h"
#include "symbols/module.h"

namespace refhist {

class SourceFinder {
 public:
  explicit SourceFinder(DebugUnits& units) : units_(units) {}

  /// Innermost first. Empty when no unit covers the address; a single frame without a function when a unit
  /// has only lines there.
  std::vector<SourceFrame> frames(Address address);

  /// Rows of the unit that covers `of`.
  std::vector<LineRow> rows(const FileRange& range, Address of);

  /// Demangled name of a function's or inlined copy's entry; empty when it has none.
  std::string function_name(const Dwarf_Die& die);
  /// File and line of the call that an inlined copy replaced.
  static void set_call_place(const Dwarf_Die& inlined, std::string& file, unsigned& line);

 private:
  std::string make_function_name(const Dwarf_Die& die);

  DebugUnits& units_;
  std::unordered_map<const void*, std::string> names_;  // by the abstract instance's address
};

}  // namespace refhist
