#include "session/loss_follower.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/short_name.h"
#include "base/system_path.h"
#include "reachability/owner_words.h"
#include "reachability/reachability_places.h"
#include "session/freeing_frames.h"
#include "session/given_back.h"
#include "session/reach_scans.h"
#include "x86/taken_arguments.h"

namespace refhist {

namespace {

std::set<Address> places_of(const LiveCopies& copies) {
  std::set<Address> places;
  for (const NewHolder& holder : copies.memory) places.insert(holder.at);
  for (const LiveFrame& frame : copies.frames) places.insert(frame.raw.cfa);
  return places;
}

constexpr std::size_t kMostSteps = 5000;     // of a way
constexpr std::size_t kMostStops = 20000;    // of the program, for one
constexpr std::size_t kMostWatched = 2;      // words, of the processor's four
constexpr std::size_t kMostBehind = 200;     // of them, once the pointer is gone
constexpr std::size_t kMostFunctions = 800;  // that may be handed the pointer; of a larger program, none

}  // namespace

PointedAt LossFollower::target(const Following& following) const {
  if (following.through) return following.order.through;
  return {extent_of(state_.history.object(following.object))};
}

bool LossFollower::leads_through(const ProgramAccess& access, const Following& following) const {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 20U;  // bytes
  const AddressRange object = extent_of(state_.history.object(following.object));
  return std::any_of(following.order.through.begin(), following.order.through.end(), [&](AddressRange block) {
    std::vector<Address> words(std::min(block.size(), kLargest) / sizeof(Address));
    const std::size_t size = words.size() * sizeof(Address);
    return access.read_memory(block.begin, words.data(), size, false) == size &&
           std::any_of(words.begin(), words.end(), [&](Address word) { return object.contains(word); });
  });
}

LiveCopies LossFollower::find(const ProgramAccess& access, const PointedAt& object, long tid,
                              const Registers& registers, LiveReturn returned) {
  const auto halt = halt_others(state_, access.port());
  return pointers_.find(access, object, tid, registers, returned);
}

void LossFollower::begin(const ProgramAccess& access, long tid, const Registers& registers,
                         const FollowOrder& order, ObjectId object, EventId event) {
  Following following(state_);
  following.order = order;
  following.object = object;
  following.begun = event;
  following.way.object = state_.history.object(object).address;
  following.way.function = order.function;
  following.through = leads_through(access, following);
  try {
    for (const LiveFrame& frame : pointers_.stack(access, tid, registers, UnwindOptions().limit).frames) {
      if (add_step(frame, true, following)) break;
    }
    LiveCopies copies = find(access, target(following), tid, registers);
    for (const NewHolder& holder : copies.memory) following.known.insert(holder.at);
    // However many registers the innermost frame has it in, it is one reference.
    const std::size_t own =
        copies.frames.empty() ? 0 : pointers_.in_frame(access, target(following), copies.frames.front());
    if (own > 1) copies.in_frames -= own - 1;
    following.places = places_of(copies);
    if (is_lost(copies, following, 0)) fail("a reference had already been lost");
    if (!copies.frames.empty()) {
      enter(access, copies.frames.front(), following);
    } else {
      follow(access, std::move(copies), following);
    }
  } catch (const Error& error) {
    return refuse(access.port(), error.what(), following);
  }
  all_.push_back(std::move(following));
}

bool LossFollower::is_lost(const LiveCopies& copies, const Following& following, Address followed) const {
  const Object& object = state_.history.object(following.object);
  if (object.state != ObjectState::live) fail("the object has ended");
  if (!copies.why_not_all.empty()) fail("{}", copies.why_not_all);
  // What other blocks lead to has their pointers, too.
  const std::size_t needed = following.through ? 1 : references(following);
  if (needed <= copies.count()) return false;
  if (following.stale) fail("what else had the pointer was not looked at at each line");
  const std::set<Address> now = places_of(copies);
  const bool others = std::any_of(following.places.begin(), following.places.end(),
                                  [&](Address place) { return place != followed && !now.contains(place); });
  if (others) fail("several pointers to it disappeared at once");
  const bool moved =
      std::any_of(now.begin(), now.end(), [&](Address place) { return !following.places.contains(place); });
  if (moved) fail("the pointer has only moved: a reference had been lost earlier");
  if (given_back_since(state_, following.object, following.begun, following.begun))
    fail("a reference was given back meanwhile");
  return true;
}

bool LossFollower::add_step(const LiveFrame& frame, bool in_hand, Following& following) {
  const LoadedModule* loaded = state_.modules.at(frame.raw.pc);
  if (loaded == nullptr || is_system_path(loaded->module->path())) return false;
  const std::vector<NamedFrame>& names = state_.namer.name(stack_frame(*loaded, frame.raw));
  const auto named = std::find_if(names.begin(), names.end(), [](const NamedFrame& name) {
    return !name.file.empty() && name.line != 0 && !is_system_path(name.file);
  });
  if (named == names.end()) return false;
  std::vector<FollowedStep>& steps = following.way.steps;
  const bool same = !steps.empty() && steps.back().line == named->line &&
                    steps.back().function == named->function && steps.back().file == named->file;
  if (!same) steps.push_back({named->function, named->file, named->line, {}, in_hand});
  following.way.function = named->function;
  return true;
}

void LossFollower::disarm(DebuggerPort& port, Following& following) {
  following.lines.disarm(port);
  following.entries.disarm(port);
  following.in_frame = false;
}

void LossFollower::finish(DebuggerPort& port, FollowedWay::End how, Following& following) {
  const Object& object = state_.history.object(following.object);
  const bool given_back = following.verdict.valid() && following.way.why_not.empty() &&
                          (object.state != ObjectState::live ||
                           given_back_since(state_, following.object, following.begun, following.verdict));
  if (given_back) following.way.why_not = "a reference was given back after all";
  disarm(port, following);
  following.held.clear(port);
  following.told = true;
  following.way.end = how;
  following.way.holders_known = following.way.why_not.empty();
  if (!following.order.file.empty())
    add_sum(state_, following.object, following.verdict.valid() ? following.verdict : following.begun,
            following.way);
  tell_way(port, following.order, following.way);
}

void LossFollower::refuse(DebuggerPort& port, const std::string& why, Following& following) {
  following.way.why_not = why;
  finish(port, FollowedWay::End::unknown, following);
}

void LossFollower::look(const ProgramAccess& access, long tid, const Registers& registers,
                        Following& following, LiveReturn returned) {
  const bool through = leads_through(access, following);
  const bool changed = std::exchange(following.through, through) != through;
  LiveCopies copies = find(access, target(following), tid, registers, returned);
  following.lines.disarm(access.port());
  following.in_frame = false;
  if (changed) return follow(access, std::move(copies), following);
  if (is_lost(copies, following, following.frame.raw.cfa)) return lose(access.port(), following);
  follow(access, std::move(copies), following);
}

void LossFollower::follow(const ProgramAccess& access, LiveCopies copies, Following& following) {
  following.places = places_of(copies);
  following.stale = false;
  std::vector<NewHolder>& memory = copies.memory;
  const auto new_end = std::stable_partition(memory.begin(), memory.end(), [&](const NewHolder& holder) {
    return !following.known.contains(holder.at);
  });
  if (new_end == memory.begin() && !copies.frames.empty())
    return enter(access, copies.frames.front(), following);
  if (new_end != memory.begin()) memory.erase(new_end, memory.end());
  if (memory.empty()) fail("nothing points at it any more");
  disarm(access.port(), following);
  watch(access.port(), memory, following);
}

void LossFollower::watch(DebuggerPort& port, const std::vector<NewHolder>& holders, Following& following) {
  std::string why_not;
  following.way.holders.clear();
  for (const NewHolder& holder : holders) {
    if (following.held.size() == kMostWatched) break;
    why_not = following.held.watch(port, state_.process, holder);
    if (!why_not.empty()) break;
    following.way.kept_in = holder.where;
    following.way.holders.push_back(holder);
  }
  if (following.held.empty()) fail("{} cannot be watched: {}", holders.front().where, why_not);
}

void LossFollower::enter(const ProgramAccess& access, const LiveFrame& frame, Following& following) {
  following.frame = frame;
  following.in_frame = true;
  following.entry = 0;
  following.way.holders.clear();
  following.way.kept_in.clear();
  DebuggerPort& port = access.port();
  if (following.lost ? add_step(frame, false, following) : note_use(access, frame, following)) {
    try {
      following.entry =
          following.lines.arm_function(port, *state_.modules.at(frame.raw.pc),
                                       frame.raw.pc - (frame.raw.exact ? 0 : 1), following.way.function);
    } catch (const Error&) {  // it is followed to its return
    }
  }
  if (frame.return_pc != 0) following.lines.arm(port, frame.return_pc);
  if (!following.lost) arm_entries(port, following);
}

const std::vector<Address>& LossFollower::function_starts() {
  const std::vector<const LoadedModule*> loaded = state_.modules.loaded();
  if (std::exchange(modules_, loaded.size()) == loaded.size()) return starts_;
  starts_.clear();
  for (const LoadedModule* one : loaded) {
    const Module& module = *one->module;
    if (is_system_path(module.path()) || !module.has_debug_info()) continue;
    for (const FunctionSymbol& function : module.functions()) {
      if (function.size == 0 || function.ifunc || clone_kind(function.name) == CloneKind::cold) continue;
      if (starts_.size() > kMostFunctions) return starts_;
      if (!module.line_rows(function.range(), function.address).empty())
        starts_.push_back(function.address + one->bias);
    }
  }
  return starts_;
}

LiveReturn LossFollower::result_of(const LiveFrame& frame) {
  const LoadedModule* loaded = state_.modules.at(frame.raw.pc);
  if (loaded == nullptr) return LiveReturn::structure;
  const std::vector<NamedFrame>& names = state_.namer.name(stack_frame(*loaded, frame.raw));
  return !names.empty() && returns_structure(state_, names.back()) ? LiveReturn::structure
                                                                   : LiveReturn::value;
}

bool LossFollower::note_use(const ProgramAccess& access, const LiveFrame& frame, Following& following) {
  const std::size_t before = following.way.steps.size();
  const bool has_line = add_step(frame, true, following);
  const bool same = following.used && following.used->raw.cfa == frame.raw.cfa;
  following.used = frame;
  // Later, a variable in memory may have something else.
  if (following.way.steps.size() != before || !same)
    following.variables = pointers_.variables(access, target(following), frame);
  return has_line;
}

void LossFollower::arm_entries(DebuggerPort& port, Following& following) {
  const std::vector<Address>& starts = function_starts();
  if (starts.size() > kMostFunctions) return;
  for (const Address start : starts) following.entries.arm(port, start);
}

void LossFollower::lose(DebuggerPort& port, Following& following) {
  following.way.last_use = last_use(following);
  following.lost = true;
  following.verdict = state_.history.object(following.object).last_event;
  following.entries.disarm(port);
}

LastUse LossFollower::last_use(const Following& following) const {
  LastUse use;
  use.step = following.way.steps.empty() ? 0 : following.way.steps.size() - 1;
  if (!following.used || following.way.steps.empty()) return use;
  const LiveFrame& frame = *following.used;
  const LoadedModule* loaded = state_.modules.at(frame.raw.pc);
  if (loaded == nullptr) return use;
  for (const NamedFrame& name : state_.namer.name(stack_frame(*loaded, frame.raw)))
    use.calls.push_back(step_of(name));
  use.variables = following.variables;
  const auto function = loaded->module->function_at(frame.raw.pc - loaded->bias);
  if (!function) return use;
  const std::string& file = following.way.steps.back().file;
  for (const LineRow& row : loaded->module->line_rows(function->range(), function->address)) {
    for (const NamedFrame& name : state_.namer.name(StackFrame{loaded->id, row.address, true})) {
      if (name.file == file && name.line != 0) use.lines.insert(name.line);
    }
  }
  return use;
}

// What comes and goes while the frame has the pointer is not what it loses.
void LossFollower::look_around(const ProgramAccess& access, const Registers& registers,
                               Following& following) {
  constexpr std::chrono::seconds kLongest{3};  // of a way
  following.stale |= following.looked_for > kLongest;
  if (following.stale) return;
  const auto begin = std::chrono::steady_clock::now();
  const LiveCopies copies = find(access, target(following), following.frame.tid, registers);
  following.looked_for += std::chrono::steady_clock::now() - begin;
  following.stale = !copies.why_not_all.empty();
  if (!following.stale) following.places = places_of(copies);
  if (!following.through && references(following) > copies.count()) fail("a reference had already been lost");
}

std::size_t LossFollower::references(const Following& following) const {
  const Object& object = state_.history.object(following.object);
  if (!object.base_known) fail("its count is not known");
  if (object.ledger <= 0) fail("it has no reference left");
  return static_cast<std::size_t>(object.ledger);
}

void LossFollower::at_line(const ProgramAccess& access, const Registers& registers, const LiveFrame& here,
                           Following& following) {
  if (!following.lost && pointers_.in_frame(access, target(following), here) > 0) {
    note_use(access, here, following);
    look_around(access, registers, following);
    if (following.way.steps.size() >= kMostSteps)
      fail("it was not followed further after {} lines", kMostSteps);
    return;
  }
  if (!following.lost) {
    look(access, here.tid, registers, following);
    if (!following.lost) return;
    enter(access, here, following);
  }
  add_step(here, false, following);
  if (following.way.steps.size() > following.way.last_use->step + kMostBehind)
    finish(access.port(), FollowedWay::End::running, following);
}

void LossFollower::arrive(const ProgramAccess& access, long tid, const Registers& registers,
                          Following& following) {
  const Address pc = registers.pc();
  if (++following.stops > kMostStops) fail("it was not followed further after {} stops", kMostStops);
  const bool entered = !following.lost && following.entries.contains(pc);
  const LiveStack stack = pointers_.stack(access, tid, registers, entered ? UnwindOptions().limit : 2);
  if (stack.frames.empty()) return;
  const LiveFrame& here = stack.frames.front();
  const Address cfa = following.frame.raw.cfa;
  const bool again = pc == following.entry && here.raw.cfa == cfa && pc != following.frame.raw.pc;
  if (again && !following.lost) fail("the call ended unseen");
  const bool left = again || (pc == following.frame.return_pc && registers.sp() >= cfa) || here.raw.cfa > cfa;
  if (left && following.lost) return finish(access.port(), FollowedWay::End::returned, following);
  if (left) {
    look(access, tid, registers, following,
         pc == following.frame.return_pc ? result_of(following.frame) : LiveReturn::none);
    if (following.lost) finish(access.port(), FollowedWay::End::returned, following);
    return;
  }
  // It has jumped there, and has no frame any more.
  const bool jumped = !following.lost && following.entries.contains(pc) && !following.lines.contains(pc);
  if (here.raw.cfa == cfa && jumped) {
    look(access, tid, registers, following);
    if (following.lost) finish(access.port(), FollowedWay::End::returned, following);
    return;
  }
  if (here.raw.cfa == cfa) {
    if (following.lines.contains(pc)) at_line(access, registers, here, following);
    return;
  }
  if (following.lost || !following.entries.contains(pc)) return;
  const auto own = std::find_if(stack.frames.begin(), stack.frames.end(),
                                [cfa](const LiveFrame& frame) { return frame.raw.cfa == cfa; });
  if (own == stack.frames.end() || pointers_.in_frame(access, target(following), *own) > 0) return;
  look(access, tid, registers, following);
  if (following.lost) enter(access, *own, following);
}

void LossFollower::passed(const ProgramAccess& access, long tid, const Registers& registers) {
  for (Following& following : all_) {
    const bool own = following.in_frame && following.frame.tid == tid;
    const bool here = following.lines.contains(registers.pc()) || following.entries.contains(registers.pc());
    if (following.told || !own || !here) continue;
    try {
      arrive(access, tid, registers, following);
    } catch (const Error& error) {
      refuse(access.port(), error.what(), following);
    }
  }
}

void LossFollower::overwritten(const ProgramAccess& access, long tid, const Registers& registers, bool freed,
                               Following& following) {
  const HelperFrames helpers(state_.modules);
  const std::set<std::string> giving =
      freed ? functions_giving_back(state_, following.object) : std::set<std::string>();
  LiveStack stack = pointers_.stack(access, tid, registers, UnwindOptions().limit);
  if (!stack.frames.empty()) stack.frames.front().raw.exact = false;  // it has executed the instruction
  const std::size_t before = following.way.steps.size();
  const auto add = [&](bool only_giving) {
    return std::any_of(stack.frames.begin(), stack.frames.end(), [&](const LiveFrame& frame) {
      if (!add_step(frame, false, following)) return false;
      const NamedFrame named = frame_of(following.way.steps.back());
      const bool skipped =
          freed && (frees_for_others(helpers, named) || (only_giving && !giving.contains(named.function)));
      if (skipped) following.way.steps.resize(before);
      return !skipped;
    });
  };
  if (!add(true) && !add(false))
    fail("the code that overwrote the pointer in {} has no line information", following.way.kept_in);
  if (const std::string why = why_not_its_own(stack, freed, following); !why.empty()) fail("{}", why);
  following.way.replaced = following.way.steps.size() - 1;
  following.verdict = state_.history.object(following.object).last_event;
  following.way.freed = freed;
  finish(access.port(), FollowedWay::End::returned, following);
}

bool LossFollower::was_put_in(const std::string& function, const LiveStack& stack,
                              const Following& following) {
  const EventId last = state_.history.object(following.object).last_event;
  const Event event = state_.history.event(last);
  if (last <= following.begun || event.role != Role::put) return false;
  const std::vector<StackFrame> put = state_.history.stacks().frames(event.stack);
  const auto depth = depth_of(state_.namer, put, function);
  const auto here = std::find_if(stack.frames.begin(), stack.frames.end(), [&](const LiveFrame& frame) {
    const LoadedModule* loaded = state_.modules.at(frame.raw.pc);
    return loaded != nullptr && depth_of(state_.namer, {stack_frame(*loaded, frame.raw)}, function);
  });
  if (!depth || here == stack.frames.end()) return false;
  // Called from the same place: it is the same call, or one like it.
  const auto caller = std::next(here);
  if (*depth + 1 == put.size() || caller == stack.frames.end()) return true;
  const LoadedModule* loaded = state_.modules.at(caller->raw.pc);
  return loaded == nullptr || caller->raw.pc - loaded->bias == put[*depth + 1].pc;
}

std::string LossFollower::why_not_its_own(const LiveStack& stack, bool freed, const Following& following) {
  const std::string& function = following.way.steps.back().function;
  if (was_put_in(function, stack, following)) return short_name(function) + " gave a reference back";
  std::string library;  // the last function that the program's own code called
  for (const LiveFrame& frame : stack.frames) {
    const LoadedModule* loaded = state_.modules.at(frame.raw.pc);
    if (loaded == nullptr) continue;
    const bool system = is_system_path(loaded->module->path());
    const std::vector<NamedFrame>& names = state_.namer.name(stack_frame(*loaded, frame.raw));
    for (const NamedFrame& name : names) {
      if (name.function == function) break;
      if (state_.namer.is_put(name.function))
        return short_name(name.function) + " gave back the object that held it";
      if (system) library = name.function;
    }
    if (!system) break;
  }
  const bool allocator = is_in_free(library);
  if (library.empty() || (freed && (allocator || !container_of(library).empty()))) return "";
  return fmt::format("{} belongs to {}", following.way.kept_in, library);
}

// A queue leaves pointers behind in the places that it has taken them from.
bool LossFollower::is_beside_ended(const ProgramAccess& access, Address word,
                                   const Following& following) const {
  constexpr std::size_t kBeside = 64;  // words, on each side
  const FamilyId family = state_.history.object(following.object).family;
  const auto ended = [&](Address value) {
    const std::vector<ObjectId> all = state_.history.all_at(value);
    return !all.empty() && std::all_of(all.begin(), all.end(), [&](ObjectId id) {
      const Object& object = state_.history.object(id);
      return object.family == family && object.state != ObjectState::live;
    });
  };
  for (std::size_t i = 1; i <= kBeside; ++i) {
    for (const Address at : {word + i * sizeof(Address), word - i * sizeof(Address)}) {
      Address value = 0;
      if (access.read_word(at, value) && value != 0 && ended(value)) return true;
    }
  }
  return false;
}

// The first word of a block of malloc may be GSlice's own, which that changes as it frees a slice elsewhere.
bool LossFollower::in_slices(Address pc) {
  const LoadedModule* loaded = state_.modules.at(pc);
  if (loaded == nullptr) return false;
  return state_.namer.name(StackFrame{loaded->id, pc - loaded->bias, false})
      .front()
      .function.starts_with("g_slice_");
}

bool LossFollower::changed(const ProgramAccess& access, long tid, Address word) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Following& one) { return one.held.watches(word); });
  if (found == all_.end()) return false;
  Following& following = *found;
  const HeldWords::Word held = *following.held.find(word);
  const auto registers = access.registers(tid);
  try {
    if (!registers) fail("what overwrote the pointer is not known");
    const bool freed =
        !held.block.empty() && frees_memory(state_, access, *registers) && !in_slices(registers->pc());
    if (!freed && held.at != word) return true;
    const Object& object = state_.history.object(following.object);
    if (object.state != ObjectState::live) fail("the object has ended");
    Address value = 0;
    if (!freed && access.read_word(held.at, value) && contains(target(following), value)) return true;
    following.held.clear(access.port());
    LiveCopies copies = find(access, target(following), tid, *registers);
    std::erase_if(copies.memory,
                  [&](const NewHolder& holder) { return freed && held.block.contains(holder.at); });
    following.way.kept_in = held.where;
    if (is_lost(copies, following, held.holder)) {
      if (following.known.contains(held.holder)) fail("{} had the pointer before", held.where);
      if (!freed && access.port().threads().size() > 1)
        fail("another thread may have taken the pointer out of {} before", held.where);
      if (!freed && is_beside_ended(access, held.at, following))
        fail("{} may no longer be in use: memory next to it points at objects that have ended", held.where);
      overwritten(access, tid, *registers, freed, following);
    } else {
      follow(access, std::move(copies), following);
    }
  } catch (const Error& error) {
    refuse(access.port(), error.what(), following);
  }
  return true;
}

void LossFollower::stop(DebuggerPort& port, const std::string& why) {
  for (Following& following : all_) {
    if (!following.told) refuse(port, why, following);
  }
  all_.clear();
}

void LossFollower::process_gone(DebuggerPort& port) {
  for (Following& following : all_) {
    if (!following.told && following.lost) {
      finish(port, FollowedWay::End::returned, following);
    } else if (!following.told) {
      finish(port, FollowedWay::End::running, following);
    }
  }
  all_.clear();
}

}  // namespace refhist
