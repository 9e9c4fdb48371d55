#include "analysis/stack_places.h"

#include <fmt/core.h>

#include <algorithm>

namespace refhist {

namespace {
constexpr Address kBelowStack = 128;  // below the stack pointer, of the innermost function
}

StackPlaces::StackPlaces(DebuggerPort& port, const MemoryReader& read, const ModuleMap& modules,
                         Unwinder& unwinder, FrameNamer& namer)
    : modules_(modules), namer_(namer) {
  for (const ThreadInfo& thread : port.threads()) {
    if (const auto registers = port.registers(thread.tid)) add_thread(*registers, read, unwinder);
  }
}

void StackPlaces::add_thread(const Registers& registers, const MemoryReader& read, Unwinder& unwinder) {
  std::vector<RawFrame> walked;
  unwinder.unwind(registers, read, UnwindOptions{}, walked);
  Address begin = registers.sp() - kBelowStack;
  for (std::size_t i = 0; i < walked.size(); ++i) {
    const RawFrame& frame = walked[i];
    if (frame.cfa <= begin) return;  // unknown, or a stack of its own for signals
    const LoadedModule* module = modules_.at(frame.exact ? frame.pc : frame.pc - 1);
    if (module != nullptr && module->id.valid())
      frames_.push_back({begin, frame.cfa, i, StackFrame{module->id, frame.pc - module->bias, frame.exact}});
    begin = frame.cfa;
  }
}

std::string StackPlaces::of(Address word) const {
  const auto found = std::find_if(frames_.begin(), frames_.end(), [word](const Frame& frame) {
    return frame.begin <= word && word < frame.end;
  });
  if (found == frames_.end()) return {};
  const std::vector<NamedFrame>& names = namer_.name(found->place);
  return names.empty() ? std::string()
                       : fmt::format("frame {}, {}", found->number, FrameNamer::text(names.back()));
}

}  // namespace refhist
