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

}  // namespace refhist
