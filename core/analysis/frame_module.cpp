#include "analysis/frame_module.h"

namespace refhist {

const LoadedModule* module_of(const ModuleMap& modules, const NamedFrame& frame) {
  for (const LoadedModule* loaded : modules.all()) {
    if (loaded->module->path() != frame.module) continue;
    const Module& module = loaded->module->code();
    if (module.has_debug_info() && module.function_at(frame.pc - loaded->bias - 1)) return loaded;
  }
  return nullptr;
}

Address offset_in_function(const ModuleMap& modules, const NamedFrame& frame) {
  for (const LoadedModule* loaded : modules.all()) {
    if (loaded->module->path() != frame.module) continue;
    const Address at = frame.pc - loaded->bias;
    const auto function = loaded->module->code().function_at(at - 1);
    if (function) return at - function->address;
  }
  return 0;
}

}  // namespace refhist
