#include "session/holders_at_event.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/system_path.h"
#include "reachability/owner_words.h"
#include "session/frame_origins.h"
#include "session/reach_scans.h"

namespace refhist {

void add_stack(SessionState& state, const LiveStack& stack, FollowedWay& way) {
  for (const LiveFrame& frame : stack.frames) {
    const LoadedModule* loaded = state.modules.at(frame.raw.pc);
    if (loaded == nullptr || is_system_path(loaded->module->path())) continue;
    const std::vector<NamedFrame>& names = state.namer.name(stack_frame(*loaded, frame.raw));
    for (const NamedFrame& name : names) {
      // Startup code has no line information, though its file has some.
      const bool own = name.file.empty() ? !loaded->module->has_debug_info() : !is_system_path(name.file);
      if (own && !name.function.empty())
        way.steps.push_back({name.function, name.file, name.line, {}, {}, frame.raw.cfa, frame.raw.pc});
    }
  }
}

namespace {

/// The frame's registers that are its own, and its words.
std::vector<Address> values_of(const ProgramAccess& access, const LiveFrame& frame) {
  constexpr std::size_t kMostWords = 1024;
  std::vector<Address> values;
  for (unsigned reg = kRax; reg < kRip; ++reg) {
    if (frame.innermost || is_preserved(reg)) values.push_back(frame.registers[reg]);
  }
  if (frame.raw.cfa <= frame.sp) return values;
  std::vector<Address> words(std::min<std::size_t>((frame.raw.cfa - frame.sp) / sizeof(Address), kMostWords));
  if (access.read_memory(frame.sp, words.data(), words.size() * sizeof(Address), false) != 0)
    values.insert(values.end(), words.begin(), words.end());
  return values;
}

/// That has the pointer which the event is about: of several, the one that a function gets first.
std::optional<unsigned> pointing_register(const Registers& registers, const AddressRange& object) {
  const auto points = [&](unsigned reg) { return object.contains(registers[reg]); };
  const auto argument = std::find_if(kArgumentRegisters.begin(), kArgumentRegisters.end(), points);
  if (argument != kArgumentRegisters.end()) return *argument;
  for (unsigned reg = kRax; reg < kRip; ++reg) {
    if (points(reg)) return reg;
  }
  return std::nullopt;
}

/// Whence it has that.
void find_origin(const FrameOrigins& frames, const Registers& registers, const AddressRange& object,
                 FollowedWay& way) {
  const auto origin = frames.here();
  const auto reg = pointing_register(registers, object);
  if (!origin || !reg) return;
  way.is_result = frames.is_result(*reg);
  const auto traced = origin->of_register(*reg);
  // It may have been cleared since.
  if (traced && !traced->read.empty() && (object.contains(traced->value) || traced->value == 0))
    way.loaded_from = traced->read.back();
}

}  // namespace

// What gives a reference back from inside of a structure has a pointer to that.
void HoldersAtEvent::add_reaches(const ProgramAccess& access, const LiveStack& stack, FollowedWay& way) {
  constexpr Address kFar = 512;  // bytes
  for (const LiveFrame& frame : stack.frames) {
    std::map<Address, std::uint64_t> reaches;
    for (const Address value : values_of(access, frame)) {
      for (const NewHolder& holder : way.holders) {
        const bool near = value <= holder.at && holder.at - value < kFar &&
                          (holder.block.empty() || holder.block.contains(value));
        if (!near) continue;
        const auto [entry, added] = reaches.try_emplace(holder.at, holder.at - value);
        if (!added) entry->second = std::min<std::uint64_t>(entry->second, holder.at - value);
      }
    }
    for (FollowedStep& step : way.steps) {
      if (step.frame == frame.raw.cfa) step.reaches = reaches;
    }
  }
}

// A variable of a pointer type has the pointer for its own function.
void HoldersAtEvent::add_members(const LiveStack& stack, const std::vector<NewHolder>& words,
                                 FollowedWay& way) const {
  for (const LiveFrame& frame : stack.frames) {
    const LoadedModule* loaded = state_.modules.at(frame.raw.pc);
    if (loaded == nullptr || is_system_path(loaded->module->path())) continue;
    const auto in_frame = [&](const NewHolder& word) {
      return word.at >= frame.sp && word.at < frame.raw.cfa;
    };
    if (std::none_of(words.begin(), words.end(), in_frame)) continue;
    const std::set<Address> variables = pointers_.pointer_variables(frame, *loaded);
    for (const NewHolder& word : words) {
      if (in_frame(word) && !variables.contains(word.at)) way.holders.push_back(word);
    }
  }
}

void HoldersAtEvent::tell(const ProgramAccess& access, long tid, const Registers& registers,
                          const FollowOrder& order, ObjectId object, EventId event) {
  constexpr std::size_t kMostHolders = 200;
  FollowedWay way;
  way.object = state_.history.object(object).address;
  way.function = order.function;
  try {
    const LiveStack stack = pointers_.stack(access, tid, registers, UnwindOptions().limit);
    add_stack(state_, stack, way);
    const auto halt = halt_others(state_, access.port());
    LiveCopies copies =
        pointers_.find(access, {extent_of(state_.history.object(object))}, tid, registers, LiveReturn::none);
    way.holders = std::move(copies.memory);
    add_members(stack, copies.stacks, way);
    const std::string own = fmt::format("stack of thread {}", tid);
    std::copy_if(copies.stacks.begin(), copies.stacks.end(), std::back_inserter(way.holders),
                 [&](const NewHolder& word) { return word.where != own; });
    if (way.holders.size() > kMostHolders) fail("more than {} words point at it", kMostHolders);
    add_reaches(access, stack, way);
    find_origin(FrameOrigins(state_, access, registers), registers, extent_of(state_.history.object(object)),
                way);
    way.why_not = std::move(copies.why_not_all);
    way.holders_known = way.why_not.empty();
    way.end = FollowedWay::End::running;
  } catch (const Error& error) {
    way.why_not = error.what();
  }
  add_sum(state_, object, event, way);
  tell_way(access.port(), order, way);
}

}  // namespace refhist
