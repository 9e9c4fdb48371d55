#include "x86/function_index.h"

#include "x86/import_slots.h"

namespace refhist {

FunctionIndex::FunctionIndex(const std::vector<std::shared_ptr<const Module>>& modules) {
  for (const auto& module : modules) {
    PerModule& entry = modules_[module.get()];
    entry.imports = read_import_slots(module->path());
    for (const FunctionSymbol& function : module->functions()) {
      // Of several names for one address, the exported one says most.
      if (function.exported) {
        entry.functions[function.address] = function.name;
        exported_.try_emplace(function.name, CodePlace{module.get(), function.address});
      } else {
        entry.functions.try_emplace(function.address, function.name);
      }
    }
  }
}

std::optional<CodePlace> FunctionIndex::exported(std::string_view name) const {
  const auto found = exported_.find(std::string(name));
  if (found == exported_.end()) return std::nullopt;
  return found->second;
}

std::string_view FunctionIndex::name_at(const CodePlace& place) const {
  const auto module = modules_.find(place.module);
  if (module == modules_.end()) return {};
  const auto found = module->second.functions.find(place.address);
  return found == module->second.functions.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view FunctionIndex::import_at(const CodePlace& slot) const {
  const auto module = modules_.find(slot.module);
  if (module == modules_.end()) return {};
  const auto found = module->second.imports.find(slot.address);
  return found == module->second.imports.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace refhist
