#include "session/shown_code.h"

#include <algorithm>

#include "events/program_access.h"

namespace refhist {

namespace {
constexpr std::size_t kFrames = 2;  // a step out of a function ends in its caller
constexpr unsigned kMostHits = 200;
constexpr Address kReadOn = 64;  // bytes: x/10i at the end of a function
}  // namespace

void ShownCode::look(SessionState& state, DebuggerPort& port) {
  clear();
  const long tid = port.selected_thread();
  const ProgramAccess access(port, state.process, state.tracer_here);
  const auto registers = tid == 0 ? std::nullopt : access.registers(tid);
  if (!registers) return;
  std::vector<RawFrame> frames;
  const auto read = [&](Address address, void* out, std::size_t size) {
    return access.read_memory(address, out, size, true);
  };
  state.unwinder.unwind(*registers, read, UnwindOptions{kFrames}, frames);
  for (const RawFrame& frame : frames) {
    const LoadedModule* module = state.modules.at(frame.pc);
    const Address inside = frame.exact ? frame.pc : frame.pc - 1;
    const auto function =
        module == nullptr ? std::nullopt : module->module->function_at(inside - module->bias);
    if (!function) continue;
    const Address begin = function->address + module->bias;
    functions_.push_back({begin, begin + function->size + kReadOn});
  }
}

void ShownCode::clear() {
  functions_.clear();
  hits_.clear();
}

bool ShownCode::contains(Address address) const {
  return std::any_of(functions_.begin(), functions_.end(),
                     [&](const Range& range) { return range.begin <= address && address < range.end; });
}

bool ShownCode::keeps(SiteId site) {
  unsigned& hits = hits_[site];
  return hits < kMostHits && ++hits < kMostHits;
}

}  // namespace refhist
