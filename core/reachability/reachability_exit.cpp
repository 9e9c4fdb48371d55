#include "reachability/reachability_exit.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace refhist {

namespace {

constexpr std::array<std::string_view, 5> kExitFunctions = {"_exit", "_Exit", "exit", "__run_exit_handlers",
                                                            "quick_exit"};
// What calls main, and after it exit. Stripped libraries name only the outer one.
constexpr std::array<std::string_view, 3> kStartFunctions = {"__libc_start_call_main", "__libc_start_main",
                                                             "__libc_start_main_impl"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class ExitFrames {
 public:
  ExitFrames(const ModuleMap& modules, const std::vector<RawFrame>& frames)
      : modules_(modules), frames_(frames) {}

  /// Index of the outermost frame that holds nothing; frames_.size() when there is none.
  [[nodiscard]] std::size_t outermost() const {
    std::size_t found = frames_.size();
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      if (is(i, kExitFunctions)) found = i;
    }
    if (found == frames_.size()) return found;
    return behind_start_code(found);
  }

 private:
  /// When main has returned, only the start code is left behind exit; in a stripped library its inner part
  /// has no name.
  [[nodiscard]] std::size_t behind_start_code(std::size_t exit) const {
    std::size_t next = exit + 1;
    if (is_nameless_neighbour(exit, next) && is(next + 1, kStartFunctions)) ++next;
    while (is(next, kStartFunctions)) ++next;
    return next - 1;
  }

  [[nodiscard]] bool is_nameless_neighbour(std::size_t frame, std::size_t next) const {
    const LoadedModule* module = module_of(frame);
    return module != nullptr && module == module_of(next) && !function_of(next);
  }

  // A call that never returns may be the last instruction: its return address is then another function's.
  [[nodiscard]] Address pc_of(std::size_t frame) const {
    return frames_[frame].exact ? frames_[frame].pc : frames_[frame].pc - 1;
  }

  [[nodiscard]] const LoadedModule* module_of(std::size_t frame) const {
    return frame < frames_.size() ? modules_.at(pc_of(frame)) : nullptr;
  }

  [[nodiscard]] std::optional<FunctionSymbol> function_of(std::size_t frame) const {
    const LoadedModule* loaded = module_of(frame);
    if (loaded == nullptr) return std::nullopt;
    return loaded->module->function_at(pc_of(frame) - loaded->bias);
  }

  template <std::size_t N>
  [[nodiscard]] bool is(std::size_t frame, const std::array<std::string_view, N>& names) const {
    const std::optional<FunctionSymbol> function = function_of(frame);
    if (!function) return false;
    if (is_one_of(names, function->name)) return true;
    // The same address may have a second name that is the known one.
    const Module& module = *module_of(frame)->module;
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      const std::vector<FunctionSymbol> named = module.functions_named(name);
      return std::any_of(named.begin(), named.end(),
                         [&](const FunctionSymbol& f) { return f.address == function->address; });
    });
  }

  const ModuleMap& modules_;
  const std::vector<RawFrame>& frames_;
};

}  // namespace

ExitCut cut_exit_frames(const ModuleMap& modules, Unwinder& unwinder, const Registers& registers,
                        const MemoryReader& read) {
  std::vector<RawFrame> frames;
  std::vector<Registers> frame_registers;
  unwinder.unwind(registers, read, {}, frames, &frame_registers);
  const std::size_t outermost = ExitFrames(modules, frames).outermost();
  if (outermost == frames.size() || frames[outermost].cfa == 0) return {};
  ExitCut cut;
  cut.cut = true;
  if (outermost + 1 < frame_registers.size()) cut.registers = frame_registers[outermost + 1];
  cut.registers[kRsp] = frames[outermost].cfa;
  return cut;
}

}  // namespace refhist
