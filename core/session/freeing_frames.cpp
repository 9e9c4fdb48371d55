#include "session/freeing_frames.h"

#include <algorithm>

#include "base/system_path.h"
#include "x86/known_functions.h"

namespace refhist {

bool is_in_free(std::string_view function) {
  for (const std::string_view prefix : {"__GI_", "__libc_"}) {
    if (function.starts_with(prefix)) function.remove_prefix(prefix.size());
  }
  return freed_argument(function) || function == "cfree" || function == "realloc" ||
         function == "_int_free" || function.starts_with("operator delete");
}

bool frees_memory(SessionState& state, const ProgramAccess& access, const Registers& registers) {
  constexpr std::size_t kMostFrames = 8;
  const MemoryReader read = [&](Address address, void* out, std::size_t size) {
    return access.read_memory(address, out, size, false);
  };
  std::vector<RawFrame> frames;
  state.unwinder.unwind(registers, read, {kMostFrames}, frames);
  for (const RawFrame& frame : frames) {
    const LoadedModule* loaded = state.modules.at(frame.pc);
    if (loaded == nullptr) continue;  // our own code before the allocator's
    const std::vector<NamedFrame>& names =
        state.namer.name(StackFrame{loaded->id, frame.pc - loaded->bias, false});
    if (std::any_of(names.begin(), names.end(),
                    [](const NamedFrame& name) { return is_in_free(name.function); }))
      return true;
    if (!is_system_path(loaded->module->path())) return false;
  }
  return false;
}

bool frees_for_others(const HelperFrames& helpers, const NamedFrame& frame) {
  if (frame.function.starts_with("std::")) return true;
  const auto signature = helpers.signature(frame);
  return signature && !signature->parameters.empty() && signature->parameters.front().type == "void *";
}

std::set<std::string> functions_giving_back(SessionState& state, ObjectId object) {
  const FamilyId family = state.history.object(object).family;
  std::set<std::string> functions;
  for (const EventOrigin& origin : state.history.log().origins()) {
    if (!origin.site.valid() || !origin.stack.valid()) continue;
    const Site& site = state.sites.get(origin.site);
    if (site.role != Role::put || site.family != family) continue;
    Event put;
    put.object = object;
    put.role = Role::put;
    put.site = origin.site;
    put.stack = origin.stack;
    functions.insert(state.namer.owner(put).function);
  }
  return functions;
}

}  // namespace refhist
