#include "x86/code_graph.h"

#include <algorithm>
#include <set>

#include "x86/import_slots.h"
#include "x86/instruction.h"
#include "x86/known_functions.h"

namespace refhist {

std::vector<FileRange> ranges_of(const Module& module, const FunctionSymbol& function) {
  std::vector<FileRange> ranges{function.range()};
  for (const FunctionSymbol& cold : module.functions_named(function.name + ".cold"))
    ranges.push_back(cold.range());
  return ranges;
}

std::vector<CodeGraph::Function> CodeGraph::entered_at(const Module& module, Address target) {
  const auto symbol = module.function_at(target);
  if (symbol && symbol->address == target) {
    return symbol->ifunc ? std::vector<Function>() : std::vector<Function>{{&module, *symbol}};
  }
  const auto import = imports(module).find(stub_slot(module, target).value_or(target));
  if (import == imports(module).end()) return {};
  std::vector<Function> functions;
  std::set<const Module*> asked;
  for (const LoadedModule* loaded : modules_.all()) {
    const Module& code = loaded->module->code();
    if (!asked.insert(&code).second) continue;
    for (const FunctionSymbol& function : code.functions_named(import->second)) {
      if (function.ifunc) return {};
      functions.push_back({&code, function});
    }
  }
  return functions;
}

bool CodeGraph::ends_path(const Module& module, Address target) {
  const std::vector<Function> entered = entered_at(module, target);
  return std::any_of(entered.begin(), entered.end(),
                     [](const Function& function) { return ends_the_path(function.symbol.name); });
}

std::optional<Address> CodeGraph::call_before(const Module& module, const FunctionSymbol& function,
                                              Address return_pc) {
  // Of some functions in assembler nobody says how long they are.
  if (return_pc - function.address > function.size) return direct_call_before(module, function, return_pc);
  const auto [entry, is_new] = calls_.try_emplace({&module, function.address});
  if (is_new) entry->second = direct_calls(module, function);
  const auto found = entry->second.find(return_pc);
  return found == entry->second.end() ? std::nullopt : std::optional(found->second);
}

const std::unordered_map<Address, std::string>& CodeGraph::imports(const Module& module) {
  const auto [entry, is_new] = imports_.try_emplace(&module);
  if (is_new && Module::open_unchanged(module.path(), module.build_id()))
    entry->second = read_import_slots(module.path());
  return entry->second;
}

}  // namespace refhist
