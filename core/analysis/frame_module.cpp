#include "analysis/frame_module.h"

#include "base/system_path.h"

namespace refhist {

namespace {

/// With the frame's function in it.
const LoadedModule* find_module(const ModuleMap& modules, const NamedFrame& frame, bool with_debug_info) {
  for (const LoadedModule* loaded : modules.all()) {
    if (loaded->module->path() != frame.module) continue;
    const Module& module = loaded->module->code();
    if (with_debug_info && !module.has_debug_info()) continue;
    if (module.function_at(frame.pc - loaded->bias - 1)) return loaded;
  }
  return nullptr;
}

}  // namespace

const LoadedModule* module_of(const ModuleMap& modules, const NamedFrame& frame) {
  return find_module(modules, frame, true);
}

const LoadedModule* any_module_of(const ModuleMap& modules, const NamedFrame& frame) {
  return find_module(modules, frame, false);
}

bool is_inside_library(const NamedFrame& frame) { return frame.file.empty() && is_system_path(frame.module); }

Address offset_in_function(const ModuleMap& modules, const NamedFrame& frame) {
  const LoadedModule* loaded = any_module_of(modules, frame);
  if (loaded == nullptr) return 0;
  const Address at = frame.pc - loaded->bias;
  return at - loaded->module->code().function_at(at - 1)->address;
}

}  // namespace refhist
