#include "session/activation_follower.h"

#include <fmt/core.h>

#include <algorithm>

#include "analysis/helper_frames.h"
#include "base/error.h"
#include "base/short_name.h"
#include "base/system_path.h"
#include "base/text.h"
#include "reachability/reachability_places.h"
#include "session/freeing_frames.h"
#include "session/given_back.h"
#include "session/reach_scans.h"

namespace refhist {

namespace {

constexpr std::size_t kMostSteps = 5000;  // of a way: a loop is told, and no more of it
constexpr const char* kWhereLeft = "the function was inlined, and where it was left could not be determined";
constexpr std::size_t kMostWatched = 2;  // words, of the processor's four
constexpr Address kRedZone = 128;        // below a stack pointer: what a frame that is gone has left there

std::vector<RawFrame> frames_of(Unwinder& unwinder, const ProgramAccess& access, const Registers& registers,
                                std::size_t limit) {
  std::vector<RawFrame> frames;
  const MemoryReader read = [&](Address address, void* out, std::size_t size) {
    return access.read_memory(address, out, size, false);
  };
  unwinder.unwind(registers, read, {limit}, frames);
  return frames;
}

}  // namespace

ObjectId ActivationFollower::object_of(const StopRule& rule) const {
  ObjectId found;
  for (const ObjectId id : state_.history.all_at(*rule.object)) {
    const Object& object = state_.history.object(id);
    const bool meant = rule.generation == 0 || object.generation == rule.generation;
    if (meant && rule.wants_family(state_.family_name(object.family))) found = id;
  }
  return found;
}

ActivationFollower::Place ActivationFollower::find(const ProgramAccess& access, const Registers& registers,
                                                   const Event& event, const std::string& function) {
  if (!event.stack.valid()) fail("the event has no stack");
  const std::vector<RawFrame> live = frames_of(state_.unwinder, access, registers, UnwindOptions().limit);
  std::size_t at = 0;
  for (const StackFrame& frame : state_.history.stacks().frames(event.stack)) {
    const LoadedModule* loaded = frame.module.valid() ? state_.modules.get(frame.module) : nullptr;
    const Address pc = frame.pc + (loaded == nullptr ? 0 : loaded->bias);
    const auto here = std::find_if(live.begin() + static_cast<std::ptrdiff_t>(at), live.end(),
                                   [&](const RawFrame& raw) { return raw.pc == pc; });
    if (here != live.end()) at = static_cast<std::size_t>(here - live.begin());
    const std::vector<NamedFrame>& names = state_.namer.name(frame);
    const auto named = std::find_if(names.begin(), names.end(),
                                    [&](const NamedFrame& name) { return name.function == function; });
    if (named == names.end()) continue;
    if (here == live.end() || loaded == nullptr || live[at].cfa == 0)
      fail("the frame of {} was not found on the stack", function);
    return {loaded, pc, live[at].cfa, at + 1 < live.size() ? live[at + 1].pc : 0, *named};
  }
  fail("{} is not on the stack of the event", function);
}

void ActivationFollower::begin(const ProgramAccess& access, long tid, const Registers& registers,
                               const StopRule& rule) {
  if (!begun_.insert(rule.number).second) return;
  Following following(state_);
  following.order = *rule.follow;
  following.way.function = rule.follow->function;
  following.tid = tid;
  try {
    following.object = object_of(rule);
    const EventId id = following.object.valid()
                           ? event_in_history(state_, following.object, rule.number_of_event)
                           : EventId();
    if (!id.valid()) fail("the event is not in the history");
    following.told = following.taken = id;
    following.way.object = *rule.object;
    if (!rule.follow->expect.empty() && history_sum(state_, following.object, id) != rule.follow->expect)
      fail("the program is not deterministic: a different history led to this event");
    const FollowOrder& order = *rule.follow;
    if (order.what == Follow::loss) return losses_.begin(access, tid, registers, order, following.object, id);
    if (order.what == Follow::holders)
      return holders_.tell(access, tid, registers, order, following.object, id);
    if (order.what == Follow::store) return stores_.begin(access, order, following.object, id);
    const Event event = state_.history.event(id);
    const Place place = find(access, registers, event, rule.follow->function);
    following.cfa = place.cfa;
    following.return_pc = place.return_pc;
    following.has_result = !state_.namer.hands_nothing_out(place.frame);
    following.inlined = place.frame.inlined;
    following.module = place.loaded->id;
    following.bias = place.loaded->bias;
    step(following, place.pc, false);
    if (following.way.steps.empty()) fail("the line of {} there is not known", rule.follow->function);
    following.way.steps.back().in_hand = true;
    arm(access.port(), following, place.pc - 1);
    const OwnerWords words = words_of(access.port(), following.object);
    following.looked = words.why_not_all.empty();
    for (const OwnerWord& word : words.words) following.known.insert(word.at);
  } catch (const Error& error) {
    disarm(access.port(), following);
    following.way.why_not = error.what();
    return tell(access.port(), following);
  }
  all_.push_back(std::move(following));
}

void ActivationFollower::refuse(DebuggerPort& port, const StopRule& rule, const std::string& why) {
  if (!begun_.insert(rule.number).second) return;
  Following following(state_);
  following.order = *rule.follow;
  following.way.object = *rule.object;
  following.way.function = rule.follow->function;
  following.way.why_not = why;
  tell(port, following);
}

void ActivationFollower::arm(DebuggerPort& port, Following& following, Address inside) {
  following.entry = following.armed.arm_function(port, *state_.modules.get(following.module), inside,
                                                 following.order.function);
  if (following.return_pc != 0) following.armed.arm(port, following.return_pc);
}

bool ActivationFollower::step(Following& following, Address pc, bool exact) {
  const std::vector<NamedFrame>& names =
      state_.namer.name(StackFrame{following.module, pc - following.bias, exact});
  const auto frame = std::find_if(names.begin(), names.end(), [&](const NamedFrame& name) {
    return name.function == following.order.function;
  });
  if (frame == names.end()) return false;
  std::vector<FollowedStep>& steps = following.way.steps;
  const bool same = !steps.empty() && steps.back().line == frame->line &&
                    steps.back().function == frame->function && steps.back().file == frame->file;
  if (frame->line != 0 && !same) steps.push_back({frame->function, frame->file, frame->line, {}, {}});
  return true;
}

bool ActivationFollower::in_frame(const ProgramAccess& access, const Registers& registers,
                                  const Following& following) const {
  constexpr std::size_t kMostWords = 8192;  // of a frame
  const AddressRange extent = extent_of(state_.history.object(following.object));
  for (unsigned reg = kRax; reg < kRip; ++reg) {
    if (extent.contains(registers[reg])) return true;
  }
  if (following.cfa <= registers.sp()) return false;
  const std::size_t count =
      std::min<std::size_t>((following.cfa - registers.sp()) / sizeof(Address), kMostWords);
  std::vector<Address> words(count);
  if (!access.read_memory(registers.sp(), words.data(), count * sizeof(Address), false)) return true;
  return std::any_of(words.begin(), words.end(), [&](Address word) { return extent.contains(word); });
}

std::optional<bool> ActivationFollower::in_hand(const ProgramAccess& access, const Registers& registers,
                                                Following& following) const {
  constexpr std::chrono::seconds kLongest{3};  // of a way
  using Clock = std::chrono::steady_clock;
  if (state_.history.object(following.object).state != ObjectState::live ||
      !in_frame(access, registers, following))
    return false;
  if (following.looked_for > kLongest) return std::nullopt;
  const auto begin = Clock::now();
  bool known = false;
  const std::vector<NewHolder> holders = new_holders(access.port(), following, known);
  following.looked_for += Clock::now() - begin;
  if (!known) return std::nullopt;
  return std::all_of(holders.begin(), holders.end(),
                     [](const NewHolder& holder) { return is_on_stack(holder.where); });
}

OwnerWords ActivationFollower::words_of(DebuggerPort& port, ObjectId id) const {
  ReachOptions options = reach_options(state_);
  return find_owner_words(port, state_.modules, extent_of(state_.history.object(id)), options);
}

std::vector<NewHolder> ActivationFollower::new_holders(DebuggerPort& port, const Following& following,
                                                       bool& known) const {
  const OwnerWords words = words_of(port, following.object);
  known = following.looked && words.why_not_all.empty();
  std::vector<NewHolder> holders;
  for (const OwnerWord& word : words.words) {
    const bool left_behind = word.at < following.cfa && word.at + kRedZone >= following.cfa;
    if (word.at != 0 && !left_behind && !following.known.contains(word.at))
      holders.push_back({word.at, word.where, word.block});
  }
  return holders;
}

// Registers but that of the result are the caller's, which had them before.
void ActivationFollower::add_holders(DebuggerPort& port, const Registers& registers, Following& following) {
  const Object& object = state_.history.object(following.object);
  if (object.state != ObjectState::live) return;
  following.way.holders = new_holders(port, following, following.way.holders_known);
  // A small structure comes back in both.
  for (const unsigned reg : {kRax, kRdx}) {
    if (following.has_result && extent_of(object).contains(registers[reg]))
      following.way.holders.push_back({0, "the result", {}});
  }
}

// A register, or a word of the frame, may be what the inlined function has left behind.
bool ActivationFollower::left_inlined(const ProgramAccess& access, const Registers& registers,
                                      Following& following) {
  constexpr std::size_t kMostScans = 100;
  if (!following.inlined || following.left || following.scans == kMostScans) return false;
  const AddressRange extent = extent_of(state_.history.object(following.object));
  bool around = false;
  for (unsigned reg = kRax; reg < kRip; ++reg) around |= extent.contains(registers[reg]);
  if (around && following.has_result) return false;
  ++following.scans;
  bool known = false;
  std::vector<NewHolder> holders = new_holders(access.port(), following, known);
  if (!known) return false;
  const auto in_frame = [&](const NewHolder& holder) {
    return holder.at >= registers.sp() && holder.at < following.cfa;
  };
  around |= std::any_of(holders.begin(), holders.end(), in_frame);
  std::erase_if(holders, in_frame);
  if (around && following.has_result) return false;
  following.way.holders_known = true;
  if (holders.empty() && around) {
    following.left = !following.entered_again;
    return false;
  }
  if (holders.empty() && following.entered_again) following.way.why_not = kWhereLeft;
  following.way.holders = std::move(holders);
  return follow_holders(access, registers, following);
}

void ActivationFollower::returned_around(DebuggerPort& port, const Registers& registers,
                                         Following& following) {
  const AddressRange extent = extent_of(state_.history.object(following.object));
  bool known = false;
  const bool gone = following.left && !extent.contains(registers[kRax]) &&
                    !extent.contains(registers[kRdx]) && new_holders(port, following, known).empty() && known;
  if (!gone) following.way.why_not = kWhereLeft;
  end(port, following, FollowedWay::End::returned);
}

bool ActivationFollower::returned(const ProgramAccess& access, const Registers& registers,
                                  Following& following) {
  add_events(following);
  if (following.inlined && following.order.what == Follow::pointer && !following.way.replaced) {
    returned_around(access.port(), registers, following);
    return true;
  }
  add_holders(access.port(), registers, following);
  return follow_holders(access, registers, following);
}

bool ActivationFollower::follow_holders(const ProgramAccess& access, const Registers& registers,
                                        Following& following) {
  const FollowedWay& way = following.way;
  if (following.order.what != Follow::pointer || way.gives_back() || way.holders.empty() ||
      !way.holders_known) {
    end(access.port(), following, FollowedWay::End::returned);
    return true;
  }
  std::vector<NewHolder> in_memory = way.holders;
  std::erase_if(in_memory,
                [](const NewHolder& holder) { return holder.at == 0 || is_on_stack(holder.where); });
  disarm(access.port(), following);
  try {
    if (in_memory.empty()) {
      enter(access, registers, following, nullptr);
    } else if (!watch(access.port(), following, in_memory)) {
      fail("the pointer is in {}, more than can be watched", plural(in_memory.size(), "place"));
    }
    return false;
  } catch (const Error& error) {
    following.way.why_not = error.what();
    end(access.port(), following, FollowedWay::End::unknown);
    return true;
  }
}

bool ActivationFollower::jumped(const std::vector<RawFrame>& frames, std::size_t outer,
                                Following& following) {
  const auto in_module = [&](std::size_t i) {
    const LoadedModule* loaded = state_.modules.at(frames[i].pc);
    return loaded == nullptr ? StackFrame() : StackFrame{loaded->id, frames[i].pc - loaded->bias, i == 0};
  };
  std::size_t inner = outer;
  while (inner > 0 && !in_module(--inner).module.valid()) {
  }
  if (inner == outer || !in_module(inner).module.valid()) return false;
  TailCalls& calls = state_.namer.tail_calls();
  if (!calls.between(in_module(inner), in_module(outer))) return false;
  const auto jump = calls.only_jump(in_module(inner), in_module(outer));
  if (!jump)
    fail("the function that put something else in {} jumped there, and has no frame", following.way.kept_in);
  const NamedFrame& named = state_.namer.name(*jump).front();
  if (named.line == 0) fail("the line of {} there is not known", named.function);
  following.way.function = following.order.function = named.function;
  following.way.steps.push_back({named.function, named.file, named.line, {}, {}});
  following.way.end = FollowedWay::End::returned;
  return true;
}

void ActivationFollower::enter(const ProgramAccess& access, const Registers& registers, Following& following,
                               const Skip& skip) {
  const std::vector<RawFrame> frames = frames_of(state_.unwinder, access, registers, UnwindOptions().limit);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const LoadedModule* loaded = state_.modules.at(frames[i].pc);
    if (loaded == nullptr || frames[i].cfa == 0) continue;
    const std::vector<NamedFrame>& names =
        state_.namer.name(StackFrame{loaded->id, frames[i].pc - loaded->bias, false});
    const auto named = std::find_if(names.begin(), names.end(), [&](const NamedFrame& name) {
      return !name.file.empty() && !name.function.empty() && (!skip || !skip(*loaded, name));
    });
    if (named == names.end()) continue;
    if (skip && jumped(frames, i, following)) return;
    following.way.function = following.order.function = named->function;
    following.cfa = frames[i].cfa;
    following.return_pc = i + 1 < frames.size() ? frames[i + 1].pc : 0;
    following.has_result = !state_.namer.hands_nothing_out(*named);
    following.inlined = named->inlined;
    following.outermost = names.back().function;
    following.module = loaded->id;
    following.bias = loaded->bias;
    step(following, frames[i].pc, false);
    const std::vector<FollowedStep>& steps = following.way.steps;
    if (steps.empty() || steps.back().function != named->function)
      fail("the line of {} there is not known", named->function);
    if (!skip) following.way.steps.back().in_hand = true;
    return arm(access.port(), following, frames[i].pc - 1);
  }
  fail("it was passed to code without debug information");
}

bool ActivationFollower::watch(DebuggerPort& port, Following& following,
                               const std::vector<NewHolder>& holders) {
  if (holders.size() > kMostWatched) return false;
  const auto taken = [&](Address word) {
    return std::any_of(all_.begin(), all_.end(),
                       [&](const Following& one) { return one.held.watches(word); });
  };
  for (const NewHolder& holder : holders) {
    if (taken(holder.at & ~Address{7}) || (!holder.block.empty() && taken(holder.block.begin)))
      fail("{} is already watched", holder.where);
    const std::string why_not = following.held.watch(port, state_.process, holder);
    if (!why_not.empty()) fail("{} cannot be watched: {}", holder.where, why_not);
  }
  following.way.kept_in = holders.front().where;
  return true;
}

bool ActivationFollower::changed(const ProgramAccess& access, long tid, Address word) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Following& one) { return one.held.watches(word); });
  if (found == all_.end()) return losses_.changed(access, tid, word) || stores_.changed(access, tid, word);
  const HeldWords::Word held = *found->held.find(word);
  const auto registers = access.registers(tid);
  const bool freed = !held.block.empty() && registers && frees_memory(state_, access, *registers);
  if (!freed && held.at != word) return true;
  const Object& object = state_.history.object(found->object);
  Address value = 0;
  const bool same = access.read_word(held.at, value) && extent_of(object).contains(value);
  if (!freed && same && object.state == ObjectState::live) return true;
  if (freed) {
    found->held.remove_in(access.port(), held.block);
  } else {
    found->held.remove(access.port(), held.at);
  }
  if (!found->held.empty()) return true;
  try {
    replaced(access, tid, *found, freed ? held.block : AddressRange());
  } catch (const Error& error) {
    found->way.why_not = error.what();
    end(access.port(), *found, FollowedWay::End::unknown);
  }
  if (found->way.end != FollowedWay::End::unknown || !found->way.why_not.empty()) all_.erase(found);
  return true;
}

bool ActivationFollower::was_put_by(const Following& following) const {
  const EventId last = state_.history.object(following.object).last_event;
  if (last <= following.told) return false;
  const Event event = state_.history.event(last);
  if (event.role != Role::put || state_.history.thread(event.thread).tid != following.tid) return false;
  const std::vector<StackFrame> frames = state_.history.stacks().frames(event.stack);
  const auto depth = depth_of(state_.namer, frames, state_.namer.owner(event).function);
  return depth && state_.namer.name(frames[*depth]).back().function == following.outermost;
}

// Whoever takes the pointer out may have it in hand and give it back in a moment.
void ActivationFollower::replaced(const ProgramAccess& access, long tid, Following& following,
                                  AddressRange freed) {
  if (state_.history.object(following.object).state != ObjectState::live) fail("the object has ended");
  bool known = false;
  std::vector<NewHolder> holders = new_holders(access.port(), following, known);
  std::erase_if(holders, [&](const NewHolder& holder) {
    return is_on_stack(holder.where) || freed.contains(holder.at);
  });
  if (!holders.empty() && watch(access.port(), following, holders)) return;
  const auto registers = access.registers(tid);
  if (!registers) fail("what overwrote the pointer is not known");
  following.tid = tid;
  const HelperFrames helpers(state_.modules);
  // What frees the holder may leave the references in it to its caller.
  const std::set<std::string> giving =
      freed.empty() ? std::set<std::string>() : functions_giving_back(state_, following.object);
  enter(access, *registers, following, [&](const LoadedModule& loaded, const NamedFrame& frame) {
    if (is_system_path(loaded.module->path())) return true;
    return !freed.empty() && (frees_for_others(helpers, frame) || !giving.contains(frame.function));
  });
  if (was_put_by(following)) fail("{} gave it back", short_name(following.order.function));
  if (given_back_since(state_, following.object, following.taken, following.told))
    fail("a reference was given back while the pointer was in {}", following.way.kept_in);
  following.told = state_.history.object(following.object).last_event;
  following.way.replaced = following.way.steps.empty() ? 0 : following.way.steps.size() - 1;
  following.way.freed = !freed.empty();
  following.way.holders_known = known;
  following.way.holders.clear();
  if (following.way.end == FollowedWay::End::returned)
    end(access.port(), following, FollowedWay::End::returned);
}

void ActivationFollower::add_events(Following& following) const {
  std::vector<std::pair<EventId, FollowedEvent>> more;
  state_.history.read_back_while(following.object, [&](const EventLog::Entry& entry) {
    if (entry.id <= following.told) return false;
    if (!entry.event.unobserved && !entry.event.failed)
      more.emplace_back(entry.id, FollowedEvent{entry.event.role, entry.event.before, entry.event.after});
    return true;
  });
  for (auto event = more.rbegin(); event != more.rend(); ++event) {
    following.told = event->first;
    following.way.steps.back().events.push_back(event->second);
  }
}

bool ActivationFollower::arrived(const ProgramAccess& access, const Registers& registers,
                                 Following& following) {
  const Address pc = registers.pc();
  if (pc == following.return_pc && registers.sp() >= following.cfa) {
    return returned(access, registers, following);
  }
  const std::vector<RawFrame> frames = frames_of(state_.unwinder, access, registers, 1);
  if (frames.empty() || frames.front().cfa == 0 || frames.front().cfa < following.cfa) return false;
  add_events(following);
  // Left by longjmp or an exception, and maybe called again.
  if (frames.front().cfa > following.cfa || pc == following.entry) {
    end(access.port(), following, FollowedWay::End::unwound);
    return true;
  }
  if (following.left) return false;
  const std::size_t before = following.way.steps.size();
  const bool inside = step(following, pc, true);
  if (following.order.what == Follow::pointer && following.way.steps.size() != before)
    following.way.steps.back().in_hand = in_hand(access, registers, following);
  if (!inside && following.order.what == Follow::pointer && left_inlined(access, registers, following))
    return true;
  if (!inside && following.order.what != Follow::pointer && following.inlined && following.way.gives_back()) {
    if (following.entered_again) following.way.why_not = kWhereLeft;
    end(access.port(), following, FollowedWay::End::returned);
    return true;
  }
  following.entered_again |= inside && following.outside;
  following.outside |= !inside;
  if (following.way.steps.size() < kMostSteps) return false;
  following.way.why_not = fmt::format("it was not followed further after {} lines", kMostSteps);
  end(access.port(), following, FollowedWay::End::running);
  return true;
}

void ActivationFollower::passed(const ProgramAccess& access, long tid, const Registers& registers) {
  losses_.passed(access, tid, registers);
  for (std::size_t i = all_.size(); i-- > 0;) {
    Following& following = all_[i];
    if (following.tid != tid || !following.armed.contains(registers.pc())) continue;
    bool over = true;
    try {
      over = arrived(access, registers, following);
    } catch (const Error& error) {  // the object may have been folded meanwhile
      following.way.why_not = error.what();
      end(access.port(), following, FollowedWay::End::unknown);
    }
    if (over) all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void ActivationFollower::disarm(DebuggerPort& port, Following& following) { following.armed.disarm(port); }

void ActivationFollower::end(DebuggerPort& port, Following& following, FollowedWay::End how) {
  disarm(port, following);
  following.held.clear(port);
  following.way.end = how;
  tell(port, following);
}

void ActivationFollower::tell(DebuggerPort& port, Following& following) {
  if (!following.order.file.empty()) add_sum(state_, following.object, following.told, following.way);
  tell_way(port, following.order, following.way);
}

void ActivationFollower::stop(DebuggerPort& port, const std::string& why) {
  losses_.stop(port, why);
  stores_.stop(port, why);
  for (Following& following : all_) {
    following.way.why_not = why;
    end(port, following, FollowedWay::End::unknown);
  }
  all_.clear();
}

void ActivationFollower::process_gone(DebuggerPort& port) {
  losses_.process_gone(port);
  stores_.stop(port, "nothing stored a pointer to the object there");
  for (Following& following : all_) {
    following.way.end = following.left ? FollowedWay::End::returned : FollowedWay::End::running;
    try {
      if (following.held.empty()) add_events(following);
    } catch (const Error& error) {
      following.way.why_not = error.what();
    }
    tell(port, following);
  }
  all_.clear();
  begun_.clear();
}

}  // namespace refhist
