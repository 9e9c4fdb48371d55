// Which functions a piece of code calls or jumps to by name, in its own module and in others.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "symbols/module_map.h"
#include "x86/code_jumps.h"

namespace refhist {

/// The function's code, its own first, and what GCC has put apart as "f.cold".
std::vector<FileRange> ranges_of(const Module& module, const FunctionSymbol& function);

class CodeGraph {
 public:
  explicit CodeGraph(const ModuleMap& modules) : modules_(modules) {}

  struct Function {
    const Module* module = nullptr;
    FunctionSymbol symbol;
  };
  /// The functions that a direct call or jump to the address may enter, or one through the GOT slot there:
  /// one, or all of the name that the linker binds. Empty when it cannot be told.
  std::vector<Function> entered_at(const Module& module, Address target);
  /// Such a call may enter what ends the path, by its name: what follows it is never reached.
  bool ends_path(const Module& module, Address target);
  /// direct_call_before, of a function that is read once: stacks have many return addresses in a large one.
  std::optional<Address> call_before(const Module& module, const FunctionSymbol& function, Address return_pc);

 private:
  const std::unordered_map<Address, std::string>& imports(const Module& module);

  const ModuleMap& modules_;
  std::unordered_map<const Module*, std::unordered_map<Address, std::string>> imports_;
  std::map<std::pair<const Module*, Address>, std::unordered_map<Address, Address>> calls_;  // by function
};

}  // namespace refhist
