#include "session/thread_places.h"

#include <algorithm>

namespace refhist {

namespace {
constexpr std::uint64_t kLongestPatch = 20;
}  // namespace

bool ThreadPlaces::is_inside(const Site& site, Address pc) {
  if (site.counter) return pc - (site.address - kLongestPrefix) < kLongestPrefix + kLongestPatch;
  return pc - site.address < std::max<std::uint64_t>(site.size, kLongestInstruction);
}

ThreadPlaces ThreadPlaces::look(SessionState& state, DebuggerPort& port) {
  const ProgramAccess access(port, state.process, state.tracer_here);
  ThreadPlaces found;
  for (const ThreadInfo& thread : port.threads()) {
    const auto registers = access.registers(thread.tid);
    if (!registers) {
      found.known_ = false;
      continue;
    }
    found.places_.push_back({thread.tid, registers->pc(), registers->sp()});
    for (const Address pc : interrupted(state, access, *registers))
      found.places_.push_back({thread.tid, pc, ~Address{0}});
  }
  return found;
}

std::vector<Address> ThreadPlaces::interrupted(SessionState& state, const ProgramAccess& access,
                                               const Registers& registers) {
  std::vector<RawFrame> frames;
  const auto read = [&](Address address, void* out, std::size_t size) {
    return access.read_memory(address, out, size, true);
  };
  state.unwinder.unwind(registers, read, UnwindOptions{}, frames);
  std::vector<Address> places;
  for (std::size_t i = 1; i < frames.size(); ++i) {
    if (frames[i].exact) places.push_back(frames[i].pc);
  }
  return places;
}

bool ThreadPlaces::any_in(const Site& site) const {
  return std::any_of(places_.begin(), places_.end(),
                     [&](const Place& place) { return is_inside(site, place.pc); });
}

}  // namespace refhist
