#include "session/tracker.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/interruption.h"
#include "base/text.h"
#include "events/program_access.h"
#include "families/function_pattern.h"
#include "session/agent_rules.h"
#include "session/default_allocators.h"
#include "session/family_resolver.h"
#include "session/program_identity.h"
#include "sites/birth_gap.h"
#include "sites/planner.h"
#include "x86/import_slots.h"

namespace refhist {

Tracker::Tracker(SessionState& state) : state_(state), stop_points_(state.breakpoints) {
  state.modules.place_remote([this](DebuggerPort& port, const Module& module, Address told) {
    return place_module(port, module, told);
  });
}

Tracker::Tracked Tracker::track(DebuggerPort& port, Family family, Named named) {
  check_conflicts(state_, family);
  if (!state_.alive) state_.modules.update(port);
  TrackedFamily tracked;
  tracked.family = std::move(family);
  tracked.named = named == Named::yes;
  tracked.backend = state_.kernel ? Backend::breakpoint : state_.recorder.options().backend;
  resolve_family(state_, tracked);
  std::vector<std::string> notes;
  const bool libraries_there = state_.alive && !at_first_instruction(port);
  check_functions(state_, tracked, libraries_there, notes);
  if (!tracked.counter_note.empty() && (state_.alive || tracked.counter)) {
    notes.push_back(tracked.counter ? tracked.counter_note
                                    : fmt::format("the counter of {} is not read: {}", tracked.family.name,
                                                  tracked.counter_note));
  }
  drop_default(port, tracked.family);
  const std::size_t armed = add_family(port, std::move(tracked));
  const FamilyId id(state_.families.size() - 1);
  if (!state_.families[id.index()].births_note.empty())
    notes.push_back(state_.families[id.index()].births_note);
  follow_allocators(port);
  return Tracked{id, armed, std::move(notes)};
}

std::size_t Tracker::add_family(DebuggerPort& port, TrackedFamily tracked) {
  state_.families.push_back(std::move(tracked));
  const FamilyId id(state_.families.size() - 1);
  std::size_t armed = 0;
  if (state_.alive) {
    arm_put_off(port);
    TrackedFamily& added = state_.families.back();
    added.from_start = at_first_instruction(port);
    with_threads_known(port, [&] {
      for (const LoadedModule* module : state_.modules.loaded()) plan_family_in(port, id, *module);
    });
    judge_allocator();
    for (const Site& site : state_.sites.all()) armed += site.family == id && site.armed ? 1 : 0;
  }
  note_births(id);
  return armed;
}

void Tracker::follow_allocators(DebuggerPort& port) {
  if (!wants_agent()) return;
  for (TrackedFamily& tracked : missing_allocators(state_)) {
    resolve_family(state_, tracked);
    add_family(port, std::move(tracked));
  }
}

void Tracker::drop_default(DebuggerPort& port, const Family& family) {
  for (std::size_t i = 0; i < state_.families.size(); ++i) {
    const TrackedFamily& other = state_.families[i];
    if (other.by_default && !other.untracked && share_function(other.family, family))
      leave_family(port, FamilyId(i));
  }
}

void Tracker::arm_site(DebuggerPort& port, SiteId id) {
  const Site& site = state_.sites.get(id);
  if (!site.why_not.empty() || !state_.recording) return;
  const SiteId other = state_.sites.at(site.address);
  if (other.valid() && other != id) {
    if (colocate(port, other, id)) return;
    if (state_.sites.get(other).in_place() && !site.counter) return replace_in_place(port, other, id);
    const std::string name = state_.family_name(state_.sites.get(other).family);
    state_.sites.set_armed(id, false, fmt::format("this code is already armed for {}", name));
    return;
  }
  if (put_off_ && wants_agent(state_.families[site.family.index()])) return;
  make_room(port, id);
  if (arm_in_agent(port, id)) return;
  if (state_.families[site.family.index()].by_default && !fallback_sites_.contains(id)) return;
  if (state_.breakpoints.arm(port, site.address)) {
    if (site.counter && site.counter->kind == CounterInstruction::Kind::compare_exchange)
      warn_of_inexact_copies(port, id);
    state_.sites.set_armed(id, true);
  } else {
    const std::string why_not = fmt::format("{} refused a breakpoint at {:#x}", port.name(), site.address);
    for (const SiteId other : state_.sites.get(id).colocated) state_.sites.set_armed(other, false, why_not);
    state_.sites.set_armed(id, false, why_not);
  }
}

/// A function that begins with what another family takes for its own counting is what its own family says.
void Tracker::replace_in_place(DebuggerPort& port, SiteId guess, SiteId function) {
  const FamilyId family = state_.sites.get(function).family;
  const std::string why_not = fmt::format("this code is already armed for {}", state_.family_name(family));
  disarm_site(port, guess);
  for (const SiteId other : state_.sites.get(guess).colocated) state_.sites.set_armed(other, false, why_not);
  state_.sites.get(guess).colocated.clear();
  state_.sites.set_armed(guess, false, why_not);
  arm_site(port, function);
}

/// What stands inside the bytes of another site's jump would never be reached: that one becomes a breakpoint.
void Tracker::make_room(DebuggerPort& port, SiteId id) {
  for (const SiteId other : state_.agent.patched_over(state_.sites.get(id).address))
    move_to_breakpoint(port, other, "another site lies in the bytes of its jump");
}

bool Tracker::colocate(DebuggerPort& port, SiteId leader, SiteId other) {
  const Site& first = state_.sites.get(leader);
  const Site& second = state_.sites.get(other);
  const bool conditions = first.only.argument != 0 && second.only.argument != 0;
  if ((!conditions && (!first.counter || !second.counter)) || first.family == second.family) return false;
  state_.sites.colocate(leader, other);
  if (first.in_agent && colocated_watched(first)) {
    disarm_site(port, leader);
    arm_site(port, leader);
  }
  return true;
}

bool Tracker::is_colocated(SiteId id) const {
  const Site& site = state_.sites.get(id);
  return site.armed && site.colocated_with.valid();
}

AgentWatch Tracker::watch_of(const Site& site) const {
  return watch_for(state_.rules, state_.families[site.family.index()].family);
}

bool Tracker::colocated_watched(const Site& site) const {
  return std::any_of(site.colocated.begin(), site.colocated.end(),
                     [&](SiteId other) { return watch_of(state_.sites.get(other)).flags != 0; });
}

// Whether it succeeds is said before it runs, and another thread at it may make that wrong.
void Tracker::warn_of_inexact_copies(DebuggerPort& port, SiteId id) {
  const bool one_processor = state_.kernel && state_.kernel->tasks().processors() == 1;
  if (port.can_stop_behind() || one_processor) return;
  state_.families[state_.sites.get(id).family.index()].traits.blind = true;
  const std::string text = fmt::format(
      "inlined copies that compare and exchange are not exact with several threads by breakpoints in {} (in "
      "the agent they are)",
      port.name());
  warn_once(text);
}

void Tracker::warn_once(const std::string& text) {
  if (std::find(state_.warnings.begin(), state_.warnings.end(), text) == state_.warnings.end())
    state_.warnings.push_back(text);
}

bool Tracker::is_interrupted_in(DebuggerPort& port, SiteId id, const Registers& registers) const {
  const ProgramAccess access(port, state_.process, state_.tracer_here);
  const std::vector<Address> places = ThreadPlaces::interrupted(state_, access, registers);
  return std::any_of(places.begin(), places.end(),
                     [&](Address pc) { return ThreadPlaces::is_inside(state_.sites.get(id), pc); });
}

void Tracker::with_threads_known(DebuggerPort& port, const std::function<void()>& work) {
  if (state_.alive && wants_agent()) standing_ = ThreadPlaces::look(state_, port);
  work();
  standing_.reset();
  publish_agent(port);
}

bool Tracker::arm_in_agent(DebuggerPort& port, SiteId id) {
  Site& site = state_.sites.get(id);
  const TrackedFamily& tracked = state_.families[site.family.index()];
  if (tracked.backend == Backend::breakpoint) return false;
  state_.agent.attach(port, state_.process, state_.tracer_here);
  if (standing_ && !standing_->known()) {
    site.why_breakpoint = "threads were running when it was armed";
    return false;
  }
  if (standing_ && standing_->any_in(site)) {
    site.why_breakpoint = "a thread was inside it when it was armed";
    for (const ThreadPlaces::Place& place : standing_->all()) {
      if (ThreadPlaces::is_inside(site, place.pc)) fallback_sites_.enter(id, place.tid, place.sp);
    }
    return false;
  }
  if (users_look_into(port, site)) {
    site.why_breakpoint = "you have a breakpoint in it";
    fallback_sites_.give(id);
    return false;
  }
  if (colocated_watched(site)) {
    site.why_breakpoint = "a stop rule checks it for another family";
    return false;
  }
  site.why_breakpoint = state_.agent.arm(port, id, watch_of(site));
  site.in_agent = site.why_breakpoint.empty();
  if (site.in_agent) state_.sites.set_armed(id, true);
  return site.in_agent;
}

bool Tracker::wants_agent(const TrackedFamily& tracked) const {
  return tracked.backend != Backend::breakpoint;
}

void Tracker::watch_agent_stop(DebuggerPort& port) {
  const Address place = state_.agent.stop_place();
  if (place == 0 || !state_.agent.watches_any()) return;
  if (stop_points_.has(place, StopPoint::agent_question)) {
    // LLDB takes it out together with the file that told about the agent's code.
    if (!port.breakpoint_alive(place)) port.place_breakpoint(place);
    return;
  }
  if (!stop_points_.add(port, place, StopPoint::agent_question))
    state_.warnings.push_back(
        fmt::format("stop rules do not work in the program: {} refused a breakpoint", port.name()));
}

Address Tracker::stop_at_beginning(DebuggerPort& port, const AskedCalls::Call& call, Address stub_site) {
  const Address to = state_.agent.way_back(stub_site);
  if (to == 0) return 0;
  if (const auto jumps = state_.agent.jump_around(to)) {
    move_among_threads(port, *jumps, "a thread has to stop in the bytes of its jump");
    fallback_sites_.enter(*jumps, call.tid, call.sp);
  }
  if (guards_.contains(to)) return to;
  if (!state_.breakpoints.arm(port, to)) return 0;
  guards_.insert(to);
  return to;
}

bool Tracker::stop_at_return(DebuggerPort& port, Address address) {
  return stop_points_.add(port, address, StopPoint::call_return);
}

bool Tracker::through_agent(DebuggerPort& port, SiteId id, long tid, const Registers& registers) {
  Site& site = state_.sites.get(id);
  if (site.in_agent) return true;  // behind the breakpoint is the patch
  if (!fallback_sites_.contains(id)) return false;
  const bool interrupted = is_interrupted_in(port, id, registers);
  if (!interrupted) fallback_sites_.leave(id, tid);
  const auto stay = [&] {
    if (fallback_sites_.contains(id) && !interrupted) fallback_sites_.enter(id, tid, registers.sp());
    return false;
  };
  // It stands in the middle of what the patch would cover.
  if (state_.agent.begins_before(id) || (may_show(port, site) && shown_.keeps(id))) return stay();
  if (users_look_into(port, site)) return stay();
  // Where the user stops as well, the event is to be there at that stop.
  const std::vector<Address> breakpoints = port.user_breakpoints();
  const bool users = std::count(breakpoints.begin(), breakpoints.end(), site.address) != 0;
  if (!users && !interrupted && may_go_back(port, id, tid) && go_back(port, id)) return true;
  const Address stub = state_.agent.stub_of(port, id, watch_of(site));
  if (!users && stub != 0 && port.set_pc(tid, stub)) return true;
  return stay();
}

bool Tracker::may_go_back(DebuggerPort& port, SiteId id, long tid) {
  const ProgramAccess access(port, state_.process, state_.tracer_here);
  // LLDB stops the program where a breakpoint that another thread has hit too is gone when that one's turn
  // comes.
  const Address address = state_.sites.get(id).address;
  const std::vector<ThreadInfo> threads = port.threads();
  const bool others_here = std::any_of(threads.begin(), threads.end(), [&](const ThreadInfo& thread) {
    const auto stands = thread.tid == tid ? std::nullopt : access.registers(thread.tid);
    return stands && stands->pc() == address;
  });
  return !others_here && fallback_sites_.empty(id, access, state_.process.pid);
}

bool Tracker::go_back(DebuggerPort& port, SiteId id) {
  fallback_sites_.remove(id);
  Site& site = state_.sites.get(id);
  // The breakpoint is still there: no thread can come into the bytes while they are written.
  site.why_breakpoint = state_.agent.arm(port, id, watch_of(site));
  if (!site.why_breakpoint.empty()) return false;
  site.in_agent = true;
  state_.breakpoints.disarm(port, site.address);
  publish_agent(port);
  return true;
}

bool Tracker::attach_agent(DebuggerPort& port, long hit) {
  return !state_.agent.attached() && wants_agent() &&
         state_.agent.attach(port, state_.process, state_.tracer_here, hit);
}

void Tracker::bring_agent(DebuggerPort& port, long hit) {
  if (!attach_agent(port, hit)) return;
  with_threads_known(port, [&] { upgrade_to_agent(port); });
  watch_forks(port);
}

void Tracker::apply_rules(DebuggerPort& port) {
  if (!state_.alive || !state_.recording) return;
  with_threads_known(port, [&] {
    for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
      const SiteId id(i);
      const Site& site = state_.sites.get(id);
      const TrackedFamily& tracked = state_.families[site.family.index()];
      const bool suits = site.in_agent
                             ? state_.agent.watch_of(id) == watch_of(site) && !colocated_watched(site)
                             : !wants_agent(tracked);
      if (!site.armed || suits || is_colocated(id)) continue;
      disarm_site(port, id);
      arm_site(port, id);
    }
  });
}

bool Tracker::wants_agent() const {
  return std::any_of(state_.families.begin(), state_.families.end(),
                     [](const TrackedFamily& tracked) { return tracked.backend != Backend::breakpoint; });
}

void Tracker::upgrade_to_agent(DebuggerPort& port) {
  const bool put_off = std::exchange(put_off_, false);
  for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
    const SiteId id(i);
    const Site& site = state_.sites.get(id);
    const TrackedFamily& tracked = state_.families[site.family.index()];
    const bool waits = site.armed || (site.current && (tracked.by_default || put_off) && !tracked.untracked);
    if (!waits || site.in_agent || !wants_agent(tracked) || is_colocated(id)) continue;
    if (site.armed) disarm_site(port, id);
    arm_site(port, id);
  }
}

void Tracker::arm_put_off(DebuggerPort& port) {
  if (!std::exchange(put_off_, false)) return;
  for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
    const Site& site = state_.sites.get(SiteId(i));
    if (site.current && !site.armed) arm_site(port, SiteId(i));
  }
}

bool Tracker::libraries_to_come(DebuggerPort& port) const {
  if (state_.agent.attached() || !state_.agent.why_not().empty() || !wants_agent()) return false;
  if (!stop_points_.any(StopPoint::module_change) || !at_first_instruction(port)) return false;
  bool needs = false;
  for (const LoadedModule* loaded : state_.modules.loaded()) {
    const Module& module = *loaded->module;
    // musl's linker is the C library as well: nothing may come after it.
    if (file_name(module.path()).starts_with("ld-musl")) return false;
    const bool linker = file_name(module.path()).starts_with("ld-") || module.path() == "[vdso]";
    if (!linker && std::exchange(needs, true)) return false;  // another one is there already
    if (!linker && read_import_slots(module.path()).empty()) return false;
  }
  return needs;
}

void Tracker::publish_agent(DebuggerPort& port) {
  state_.agent.publish(port);
  watch_agent_stop(port);
  state_.unwinder.modules_changed();
}

void Tracker::move_to_breakpoint(DebuggerPort& port, SiteId id, const std::string& why) {
  disarm_site(port, id);
  Site& site = state_.sites.get(id);
  site.why_breakpoint = why;
  if (state_.breakpoints.arm(port, site.address)) state_.sites.set_armed(id, true);
}

void Tracker::move_among_threads(DebuggerPort& port, SiteId id, const std::string& why) {
  // One byte at a time is safe: nobody comes into the jump while a breakpoint stands at its beginning.
  const Address jump = state_.agent.jump_of(id);
  const bool guarded = state_.breakpoints.arm(port, jump);
  move_to_breakpoint(port, id, why);
  if (guarded) state_.breakpoints.disarm(port, jump);
  publish_agent(port);
}

void Tracker::disarm_site(DebuggerPort& port, SiteId id) {
  Site& site = state_.sites.get(id);
  if (is_colocated(id)) {
    // What is armed is another family's.
  } else if (site.in_agent) {
    state_.agent.disarm(port, id);
    site.in_agent = false;
  } else {
    state_.breakpoints.disarm(port, site.address);
  }
  state_.sites.set_armed(id, false);
}

void Tracker::plan_family_in(DebuggerPort& port, FamilyId id, const LoadedModule& module) {
  TrackedFamily& tracked = state_.families[id.index()];
  if (tracked.untracked) return;
  std::vector<Site> sites = plan_sites(id, tracked.family, tracked.counter, module);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    Site& site = sites[i];
    Interruption::tell([&] {
      return fmt::format("arming {} in {}: site {} of {}", tracked.family.name,
                         file_name(module.module->path()), i + 1, sites.size());
    });
    const bool runs_unseen = !site.why_not.empty() && site.clone != CloneKind::cold;
    const SiteId added = state_.sites.add(std::move(site));
    arm_site(port, added);
    if (runs_unseen) tracked.traits.blind = true;
    if (!module.module->has_debug_info()) tracked.traits.copies_unknown = true;
  }
  note_missing_copies(tracked, *module.module);
}

/// Debug information that is not there would have told of inlined copies.
void Tracker::note_missing_copies(TrackedFamily& tracked, const Module& module) {
  if (tracked.family.allocator || !wants_module(tracked.family, module)) return;
  const std::string missing = module.missing_debug_info();
  if (missing.empty()) return;
  tracked.traits.copies_unknown = true;
  warn_once(fmt::format("{}: {}: inlined copies there are not known", file_name(module.path()), missing));
}

void Tracker::note_births(FamilyId id) {
  TrackedFamily& tracked = state_.families[id.index()];
  if (tracked.untracked) return;
  std::vector<Site> sites;
  if (state_.alive) {
    for (const Site& site : state_.sites.all()) {
      if (site.family == id && site.current && !site.unloaded) sites.push_back(site);
    }
  } else {
    for (const LoadedModule* module : state_.modules.loaded()) {
      for (Site& site : plan_sites(id, tracked.family, tracked.counter, *module))
        sites.push_back(std::move(site));
    }
  }
  tracked.births_note = birth_gap(tracked.family, sites);
}

void Tracker::arm_special(DebuggerPort& port, const LoadedModule& module) {
  // The dynamic linker calls this empty function whenever it has mapped or unmapped a library.
  for (const FunctionSymbol& function : module.module->functions_named("_dl_debug_state")) {
    const Address address = function.address + module.bias;
    const bool is_linker = file_name(module.module->path()).starts_with("ld-");
    if (is_linker && !stop_points_.any(StopPoint::module_change))
      stop_points_.add(port, address, StopPoint::module_change);
  }
  for (const char* name : {"_exit", "_Exit"}) {
    for (const FunctionSymbol& function : module.module->functions_named(name))
      stop_points_.add(port, function.address + module.bias, StopPoint::exit);
  }
}

void Tracker::watch_forks(DebuggerPort& port) {
  if (stop_points_.any(StopPoint::fork)) return;
  for (const LoadedModule* module : state_.modules.loaded()) {
    if (!file_name(module->module->path()).starts_with("libc.")) continue;
    bool inner = false;
    for (const char* name : {"_Fork", "fork"}) {
      for (const FunctionSymbol& function : module->module->functions_named(name)) {
        const Address address = function.address + module->bias;
        if (stop_points_.add(port, address, StopPoint::fork) && !inner)
          stop_points_.add(port, address, StopPoint::innermost_fork);
      }
      inner = stop_points_.any(StopPoint::fork);
    }
  }
}

void Tracker::plan_module(DebuggerPort& port, const LoadedModule& module) {
  for (std::size_t i = 0; i < state_.families.size(); ++i) plan_family_in(port, FamilyId(i), module);
}

void Tracker::process_started(DebuggerPort& port) {
  state_.sites.retire_all();
  state_.agent.begin_process();
  state_.kernel.reset();
  state_.no_kernel.clear();
  state_.modules.clear();  // what was known before there was a process lay at other addresses
  state_.process = port.process();
  state_.program = identify(state_.process);
  state_.alive = state_.process.pid != 0 || state_.process.state == ProcessState::stopped;
  state_.tracer_here = state_.process.local && ProgramAccess::is_tracer(state_.process.pid);
  guard_program(port);
  put_off_ = false;
  follow_modules(port, true);
  if (!state_.no_kernel.empty()) {
    process_gone();
    fail("{}", state_.no_kernel);
  }
  const bool from_start = at_first_instruction(port);
  for (TrackedFamily& family : state_.families) family.from_start = from_start;
  judge_allocator();
}

void Tracker::judge_allocator() {
  const auto& sites = state_.sites.all();
  const bool heap = std::any_of(sites.begin(), sites.end(), [&](const Site& site) {
    const TrackedFamily& tracked = state_.families[site.family.index()];
    return site.armed && site.role == Role::alloc && tracked.family.name == "malloc" && tracked.from_start;
  });
  state_.recorder.set_allocator_tracked(heap);
}

bool Tracker::at_first_instruction(DebuggerPort& port) const {
  const std::vector<ThreadInfo> threads = port.threads();
  if (threads.size() != 1) return false;
  const auto registers = port.registers(threads.front().tid);
  const LoadedModule* module = registers ? state_.modules.at(registers->pc()) : nullptr;
  if (module == nullptr) return false;
  const bool in_linker = file_name(module->module->path()).starts_with("ld-");
  // LLDB never hits a breakpoint where the thread already stands, so it may stand behind the first
  // instruction.
  return in_linker ||
         registers->pc() - (module->module->entry_point() + module->bias) < ThreadPlaces::kLongestInstruction;
}

void Tracker::settle_fork(DebuggerPort& port) {
  if (std::exchange(parent_left_, false)) leave_parent(port);
}

void Tracker::leave_parent(DebuggerPort& port) {
  if (!state_.agent.attached() || state_.agent.still_there(port, state_.process)) return;
  state_.agent.leave_parent(port);
  stop_points_.remove_if(port, StopPoint::agent_question, [](Address) { return true; });
  std::vector<SiteId> moved;
  for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
    Site& site = state_.sites.get(SiteId(i));
    if (!site.in_agent) continue;
    site.in_agent = false;
    state_.sites.set_armed(SiteId(i), false);
    moved.emplace_back(i);
  }
  for (const SiteId id : moved) arm_site(port, id);
  publish_agent(port);
}

void Tracker::follow_fork(DebuggerPort& port) {
  const long left = state_.process.pid;
  state_.process = port.process();
  state_.tracer_here = state_.process.local && ProgramAccess::is_tracer(state_.process.pid);
  guard_program(port);
  parent_left_ = state_.agent.attached();
  state_.recorder.forget_threads();
  if (state_.forks != 0) --state_.forks;
  state_.warnings.push_back(fmt::format("process {} forked and {} follows {}: what {} does is not recorded",
                                        left, port.name(), state_.process.pid, left));
}

void Tracker::begin_late(DebuggerPort& port) {
  forget_history();
  state_.end = ProcessEnd{};
  state_.scan = ReachScan{};
  ++state_.runs;
  process_started(port);
}

void Tracker::forget_history() {
  state_.confirmed.clear();
  state_.history.clear();
  state_.agent.forget_history();
  close_history(state_);
  state_.managed.forget();
  state_.recorder.forget_process();
  state_.scan = ReachScan{};
  for (TrackedFamily& family : state_.families) family.from_start = false;
}

void Tracker::modules_changed(DebuggerPort& port) { follow_modules(port, false); }

void Tracker::follow_modules(DebuggerPort& port, bool starts) {
  if (!state_.alive) return;
  const ModuleMap::Change change = state_.modules.update(port);
  if (change.loaded.empty() && change.unloaded.empty()) return;
  state_.unwinder.modules_changed();
  state_.recorder.modules_changed();
  state_.agent.forget_cached_calls();
  for (const ModuleId id : change.unloaded) {
    const LoadedModule* module = state_.modules.get(id);
    state_.sites.unload(id);
    state_.breakpoints.drop(port, module->begin, module->end);
    state_.agent.drop(module->begin, module->end);
    stop_points_.drop(module->begin, module->end);
  }
  for (TrackedFamily& tracked : state_.families) {
    if (!tracked.untracked) resolve_again(state_, tracked);
  }
  const bool early = attach_agent(port, 0);
  for (const ModuleId id : change.loaded) arm_special(port, *state_.modules.get(id));
  const bool waited = put_off_;
  put_off_ = waited || (starts && libraries_to_come(port));
  for (const ModuleId id : change.loaded) plan_module(port, *state_.modules.get(id));
  if (early) upgrade_to_agent(port);
  if (waited) arm_put_off(port);
  if (state_.tracks_any()) watch_forks(port);
  publish_agent(port);
  for (std::size_t i = 0; i < state_.families.size(); ++i) note_births(FamilyId(i));
  watch_functions(port);
  judge_allocator();
}

void Tracker::guard_program(const DebuggerPort& port) {
  if (!state_.process.local || state_.process.pid == 0) return;
  if (const std::string why = program_guard_.watch(state_.process.pid); !why.empty())
    warn_once(fmt::format("if {} is killed, its breakpoints stay in the program: {}", port.name(), why));
}

void Tracker::process_gone() {
  program_guard_.dismiss();
  state_.agent.forget();
  state_.managed.forget_classes();
  state_.modules.clear();
  state_.sites.disarm_all();
  state_.breakpoints.forget();
  stop_points_.clear();
  fallback_sites_.clear();
  shown_.clear();
  guards_.clear();
  arrived_.clear();
  at_arguments_.clear();
  state_.recorder.forget_process();
  state_.unwinder.modules_changed();
  state_.alive = false;
  state_.process = ProcessInfo{};
  if (state_.kernel)
    state_.no_kernel = "the guest is gone, or the debugger has let go of it: the history ends at that point";
  state_.kernel.reset();
  state_.unwinder.set_ends({});
}

void Tracker::pause(DebuggerPort& port) {
  state_.recording = false;
  // What is handed out and given back meanwhile is not known afterwards.
  for (TrackedFamily& tracked : state_.families) tracked.from_start = false;
  judge_allocator();
  // What happens while nothing is armed is not seen: whoever lives now may be taken, put or freed meanwhile.
  for (std::size_t i = 0; i < state_.families.size(); ++i) state_.history.note_unseen(FamilyId(i));
  for (const auto& [id, object] : state_.history.objects()) {
    if (object.state != ObjectState::live) continue;
    state_.history.set_complete(id, false);
    state_.history.set_note(id, "recording was paused during its life");
  }
  for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
    const Site& site = state_.sites.get(SiteId(i));
    if (!site.armed) continue;
    disarm_site(port, SiteId(i));
  }
  stop_points_.remove_if(port, StopPoint::call_return, [](Address) { return true; });
  state_.recorder.forget_process();
}

void Tracker::disarm_sites_of(DebuggerPort& port, FamilyId id) {
  std::vector<SiteId> freed;
  for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
    const Site& site = state_.sites.get(SiteId(i));
    if (site.family != id || !site.current) continue;
    if (site.armed) {
      disarm_site(port, SiteId(i));
      freed.emplace_back(i);
    }
    for (const SiteId other : state_.sites.get(SiteId(i)).colocated) state_.sites.set_armed(other, false);
    state_.sites.get(SiteId(i)).colocated.clear();
    state_.sites.get(SiteId(i)).current = false;
  }
  state_.sites.drop_riders_of(id);
  // Where two families claim the same code, the other one's turn has come.
  for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
    const Site& site = state_.sites.get(SiteId(i));
    const bool armable = site.counter || (!site.inlined && site.clone == CloneKind::whole);
    const bool waited =
        site.current && !site.armed && armable && std::any_of(freed.begin(), freed.end(), [&](SiteId other) {
          return state_.sites.get(other).address == site.address;
        });
    if (!waited) continue;
    state_.sites.set_armed(SiteId(i), false);
    arm_site(port, SiteId(i));
  }
}

void Tracker::untrack(DebuggerPort& port, FamilyId id) {
  if (state_.families[id.index()].by_default) state_.recorder.options().allocators = false;
  leave_family(port, id);
  const bool others = std::any_of(state_.families.begin(), state_.families.end(),
                                  [](const auto& other) { return !other.untracked && !other.by_default; });
  for (std::size_t i = 0; i < state_.families.size() && !others; ++i) {
    if (!state_.families[i].untracked) leave_family(port, FamilyId(i));
  }
}

void Tracker::release_return_points(DebuggerPort& port) {
  stop_points_.remove_if(port, StopPoint::call_return,
                         [&](Address address) { return !state_.recorder.awaits_return_to(address); });
}

void Tracker::leave_family(DebuggerPort& port, FamilyId id) {
  TrackedFamily& tracked = state_.families[id.index()];
  disarm_sites_of(port, id);
  tracked.untracked = true;
  tracked.births_note.clear();
  // Nobody sees any more what becomes of what lives now: it must not be called leaked.
  for (const auto& [lived, object] : state_.history.objects()) {
    if (object.family != id || object.state != ObjectState::live) continue;
    state_.history.object(lived).state = ObjectState::unknown;
    state_.history.set_note(lived, "it was live when its family was untracked");
  }
  state_.recorder.forget_family(id);
  release_return_points(port);
  if (tracked.family.allocator) judge_allocator();
}

void Tracker::resume(DebuggerPort& port) {
  state_.recording = true;
  with_threads_known(port, [&] {
    for (std::size_t i = 0; i < state_.sites.all().size(); ++i) {
      const Site& site = state_.sites.get(SiteId(i));
      if (site.current && !site.armed) arm_site(port, SiteId(i));
    }
  });
}

void Tracker::arm_return(DebuggerPort& port, Address address) {
  if (stop_at_return(port, address)) return;
  state_.warnings.push_back(fmt::format(
      "calls that return to {:#x} are not recorded: {} refused a breakpoint", address, port.name()));
}

std::string Tracker::watch_functions(DebuggerPort& port) {
  std::string unseen;
  for (const StopRule& rule : state_.rules.all()) {
    if (rule.after.empty()) continue;
    const FunctionPattern pattern(rule.after);
    bool found = false;
    for (const LoadedModule* module : state_.modules.loaded()) {
      for (const FunctionSymbol& function : module->module->functions()) {
        if (!pattern.matches(function.name, demangle(function.name))) continue;
        if (clone_kind(function.name) == CloneKind::cold) continue;
        found = true;
        if (!state_.alive) continue;
        stop_points_.add_rule(port, function.address + module->bias, rule.number);
      }
    }
    if (!found) unseen = rule.after;
  }
  return unseen;
}

std::string Tracker::nearest_function(const std::string& name) const {
  return suggestion(name, function_names(state_.modules.loaded()));
}

}  // namespace refhist
