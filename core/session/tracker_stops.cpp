// What the tracker does at a stop that the user sees: the code around it is the program's own again.
#include <algorithm>
#include <utility>

#include "agent_host/debugger_stops.h"
#include "events/program_access.h"
#include "session/tracker.h"

namespace refhist {

void Tracker::return_to_agent(DebuggerPort& port) {
  for (const SiteId id : fallback_sites_.sites()) {
    const Site& site = state_.sites.get(id);
    const bool still = site.armed && !site.in_agent && wants_agent(state_.families[site.family.index()]);
    if (still && (standing_->any_in(site) || may_show(port, site) || users_look_into(port, site))) continue;
    fallback_sites_.remove(id);
    if (!still) continue;
    disarm_site(port, id);
    arm_site(port, id);
  }
}

// A breakpoint does not keep other threads from the object while a stop rule is judged.
// LLDB's steps run on where they come to one: it has them only where a step would spoil a jump.
bool Tracker::may_show(DebuggerPort& port, const Site& site) const {
  if (!shown_.contains(site.address) || (watch_of(site).flags != 0 && port.threads().size() != 1))
    return false;
  return port.can_step_past_breakpoints() ||
         (site.counter && state_.agent.covers_line(port, state_.sites.at(site.address)));
}

// The agent's frame is in the backtrace then, and GDB's `finish` ends in it.
bool Tracker::users_look_into(DebuggerPort& port, const Site& site) {
  if (!site.watches_return() || !port.can_step_past_breakpoints()) return false;
  const std::vector<Address> breakpoints = port.user_breakpoints();
  return std::any_of(breakpoints.begin(), breakpoints.end(), [&](Address address) {
    return site.address < address && address - site.address < site.size;
  });
}

void Tracker::show_program_code(DebuggerPort& port, const ThreadPlaces& places) {
  constexpr unsigned kMost = 64;  // a third of a millisecond each
  unsigned shown = 0;
  for (std::size_t i = 0; i < state_.sites.all().size() && shown != kMost; ++i) {
    const SiteId id(i);
    const Site& site = state_.sites.get(id);
    if (!state_.agent.armed(id) || !may_show(port, site)) continue;
    // A thread on its way to the jump tells of its call there.
    const auto [begin, end] = std::minmax({state_.agent.jump_of(id), site.address});
    if (std::any_of(places.all().begin(), places.all().end(), [begin = begin, end = end](const auto& place) {
          return begin <= place.pc && place.pc <= end;
        }))
      continue;
    move_to_breakpoint(port, id, "the program stopped in this function or near it");
    fallback_sites_.give(id);
    ++shown;
  }
}

bool Tracker::goes_through_stub(DebuggerPort& port, const StandingThread& stander, long seen) {
  const ThreadPlaces::Place& place = stander.place;
  if (seen == 0 || place.tid == seen || place.interrupted() || stander.stub == 0) return false;
  const std::vector<Address> breakpoints = port.user_breakpoints();
  const bool users = std::count(breakpoints.begin(), breakpoints.end(), place.pc) != 0;
  return !users && port.set_pc(place.tid, stander.stub);
}

std::vector<Tracker::StandingThread> Tracker::standing_threads(DebuggerPort& port,
                                                               const ThreadPlaces& places) const {
  const ProgramAccess access(port, state_.process, state_.tracer_here);
  const auto read = [&](Address address, Address& word) { return access.read_word(address, word); };
  std::vector<StandingThread> found;
  for (const ThreadPlaces::Place& place : places.all()) {
    const SiteId id = state_.agent.patched_at(place.pc).value_or(state_.sites.at(place.pc));
    if (!id.valid()) continue;
    const auto now = place.interrupted() ? std::nullopt : access.registers(place.tid);
    found.push_back({id, place, state_.sites.get(id).in_agent, state_.agent.call_at(id, place.pc),
                     state_.agent.stub_from(id, place.pc),
                     now ? state_.agent.at_entry(id, *now, read) : std::nullopt});
  }
  return found;
}

std::vector<Tracker::Begun> Tracker::fall_back_to_breakpoints(DebuggerPort& port, const AskedCalls& calls) {
  std::vector<Begun> begun;
  const std::unordered_set<long> arrived = std::exchange(arrived_, {});
  const std::vector<AskedCalls::Call> at_arguments = std::exchange(at_arguments_, {});
  const std::unordered_set<Address> awaited = calls.awaited();
  std::erase_if(guards_, [&](Address guard) {
    if (awaited.contains(guard)) return false;
    state_.breakpoints.disarm(port, guard);
    return true;
  });
  if (!state_.agent.attached() || (state_.agent.count() == 0 && fallback_sites_.sites().empty()))
    return begun;
  standing_ = ThreadPlaces::look(state_, port);
  shown_.look(state_, port);
  return_to_agent(port);
  if (awaited.empty()) release_return_points(port);  // their calls came by breakpoint, and now pass the agent
  const ThreadPlaces places = *std::exchange(standing_, std::nullopt);
  const long seen = port.selected_thread();
  const std::vector<StandingThread> found = standing_threads(port, places);
  show_program_code(port, places);
  for (const StandingThread& stander : found) {
    const auto& [id, place, was_in_agent, call, stub, entry] = stander;
    // Its call is recorded, and its breakpoint is there.
    if (was_in_agent && calls.awaits(place.tid, place.pc, place.sp)) continue;
    if (was_in_agent && place.interrupted() && call != place.pc) continue;  // its jump is next
    const bool recorded = !place.interrupted() && arrived.contains(place.tid);
    if (was_in_agent && !recorded) {
      // In the middle of the function, at a jump that makes room for a breakpoint: that will record it.
      if (call > state_.sites.get(id).address || goes_through_stub(port, stander, seen)) continue;
      if (!place.interrupted()) begun.push_back({place.tid, call, entry});
    }
    if (state_.sites.get(id).in_agent) move_to_breakpoint(port, id, "a thread is at its entry");
    if (was_in_agent || fallback_sites_.contains(id)) fallback_sites_.enter(id, place.tid, place.sp);
  }
  for (const AskedCalls::Call& stopped : at_arguments) {
    const bool in_agent = state_.agent.armed(stopped.site);
    if (in_agent) move_to_breakpoint(port, stopped.site, "a thread is at its entry");
    if (in_agent || fallback_sites_.contains(stopped.site))
      fallback_sites_.enter(stopped.site, stopped.tid, stopped.sp);
  }
  publish_agent(port);
  return begun;
}

void Tracker::advance_to_arguments(DebuggerPort& port, long tid, SiteId id, const Registers& registers) {
  const Site& site = state_.sites.get(id);
  const LoadedModule* module = state_.modules.get(site.module);
  if (site.counter || module == nullptr || registers.pc() != site.address) return;
  const auto end = run_to_arguments(port, *module, registers);
  if (!end) return;
  const Address to = end->registers.pc();
  const std::vector<Address> users = port.user_breakpoints();
  if (std::any_of(users.begin(), users.end(),
                  [&](Address address) { return site.address <= address && address <= to; }))
    return;
  if (state_.agent.jump_around(to)) return;
  for (const PrologueEnd::Store& store : end->stores) {
    if (!port.write_memory(store.at, &store.value, store.size)) return;  // below the stack: nobody's
  }
  if (port.set_registers(tid, end->registers)) at_arguments_.push_back({tid, id, registers.sp()});
}

void Tracker::respect_breakpoints(DebuggerPort& port) {
  if (!state_.agent.attached() || !state_.recording) return;
  std::vector<SiteId> covered = state_.agent.covered_by_breakpoints(port);
  for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
    const Site& site = state_.sites.get(SiteId(i));
    if (site.in_agent && users_look_into(port, site)) covered.push_back(SiteId(i));
  }
  if (covered.empty()) return;
  with_threads_known(port, [&] {
    for (const SiteId id : covered) {
      disarm_site(port, id);
      arm_site(port, id);
    }
  });
}

}  // namespace refhist
