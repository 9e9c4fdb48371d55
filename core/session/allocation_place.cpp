#include "session/allocation_place.h"

namespace refhist {

std::string allocation_place(SessionState& state, const Block& block) {
  const ModuleId allocator = block.site.valid() ? state.sites.get(block.site).module : ModuleId();
  const LoadedModule* library = state.modules.get(allocator);
  for (const NamedFrame& frame : state.namer.stack(block.stack)) {
    if (library == nullptr || frame.module != library->module->path()) return FrameNamer::text(frame);
  }
  return {};
}

}  // namespace refhist
