// The units of a module's debug information: its own, those of its alternative (dwz) file, and split ones.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "symbols/dwarf_die.h"
#include "symbols/interval_table.h"

namespace refhist {

class DebugUnit {
 public:
  explicit DebugUnit(Dwarf_CU* cu);
  /// False where the file is damaged: nothing of it can be asked for.
  [[nodiscard]] bool is_readable() const { return skeleton_.addr != nullptr; }

  /// The unit's own entry: the skeleton of a split unit, which has the code ranges and the line table.
  [[nodiscard]] const Dwarf_Die& skeleton() const { return skeleton_; }
  /// The entry whose children are the functions and types. Opens the .dwo file of a split unit on first need.
  [[nodiscard]] const Dwarf_Die& contents();
  /// The .dwo file that has the contents, as the skeleton names it, when it was not found; else empty.
  [[nodiscard]] std::string missing_file();
  /// The function whose code holds the address; nullptr when none of this unit does.
  [[nodiscard]] const Dwarf_Die* function_at(Address address);
  /// The variable that begins there, static ones of functions and classes among them; nullptr when none of
  /// this unit does.
  [[nodiscard]] const Dwarf_Die* variable_at(Address address);

 private:
  void collect_functions(const Dwarf_Die& scope);
  void collect_variables(const Dwarf_Die& scope);

  Dwarf_CU* cu_ = nullptr;
  Dwarf_Die skeleton_{};
  std::unique_ptr<Dwarf_Die> contents_;
  std::unique_ptr<IntervalTable<Dwarf_Die>> functions_;
  std::unique_ptr<std::map<Address, Dwarf_Die>> variables_;
};

class DebugUnits {
 public:
  DebugUnits(Dwarf* dwarf, std::string module) : dwarf_(dwarf), module_(std::move(module)) {}

  /// Path of the module that they describe.
  [[nodiscard]] const std::string& module() const { return module_; }

  std::deque<DebugUnit>& all();
  /// The unit whose code holds the address; nullptr when none does.
  DebugUnit* at(Address address);
  /// Which of the files that the debug information refers to were not found, as the end of a sentence; empty
  /// when all were. Opens all of them.
  const std::string& missing();
  /// Gives back the memory of what was read of the files. It is read again where it is needed.
  void let_go_of_pages();

 private:
  void list(Dwarf* dwarf);
  std::string find_missing();

  Dwarf* dwarf_ = nullptr;
  std::string module_;
  std::deque<DebugUnit> units_;
  std::unique_ptr<IntervalTable<DebugUnit*>> ranges_;
  std::optional<std::string> missing_;
};

/// Calls `visit(begin, end)` for every run of code of the entry.
template <class Visit>
void for_each_range(const Dwarf_Die& die, Visit&& visit) {
  Dwarf_Die copy = die;
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(&copy, at, &base, &begin, &end)) > 0;) visit(begin, end);
}

}  // namespace refhist
