#include "analysis/suspects.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/frame_module.h"
#include "base/short_name.h"
#include "base/system_path.h"

namespace refhist {

namespace {

constexpr double kSeldom = 0.1;
constexpr double kOften = 0.3;
constexpr std::size_t kMostSeldom = 3;  // functions that give back less often whose ways are looked at
constexpr std::size_t kFewPlaces = 2;   // that lack a get: they tell more than the put that found none

std::string share_text(double share) { return fmt::format("{:.0f}%", 100 * share); }

bool same_place(const NamedFrame& one, const NamedFrame& other) {
  return one.function == other.function && one.line == other.line && (one.line != 0 || one.pc == other.pc);
}

}  // namespace

std::string Suspect::text() const { return fmt::format("{} in {}: {}", what, FrameNamer::text(frame), why); }

void Suspects::add(std::vector<Suspect>& suspects, std::vector<Suspect> more) {
  for (Suspect& suspect : more) {
    const auto known = std::find_if(suspects.begin(), suspects.end(), [&](const Suspect& other) {
      return same_place(other.frame, suspect.frame);
    });
    if (known == suspects.end()) {
      suspects.push_back(std::move(suspect));
    } else if (known->what == suspect.what && known->confidence == "candidate" &&
               known->basis == Suspect::Basis::other && suspect.basis == Suspect::Basis::way_out) {
      *known = std::move(suspect);  // which says more of the same place
    }
  }
}

void Suspects::put_first(Suspect first, std::vector<Suspect>& suspects) {
  std::vector<Suspect> ranked{std::move(first)};
  add(ranked, std::move(suspects));
  suspects = std::move(ranked);
}

void Suspects::finish(std::vector<Suspect>& suspects) const {
  for (Suspect& suspect : suspects) {
    NamedFrame& frame = suspect.frame;
    if (frame.line == 0 && !frame.function.empty())
      frame.offset = offset_in_function(namer_.modules(), frame);
  }
  std::stable_partition(suspects.begin(), suspects.end(), [](const Suspect& suspect) {
    const NamedFrame& frame = suspect.frame;
    return !is_system_path(frame.file.empty() ? frame.module : frame.file);
  });
}

std::string Suspects::caller(const Event& event) {
  const std::vector<NamedFrame> frames = owners_.outwards(event);
  return frames.size() > 1 ? frames[1].function : std::string();
}

// A call that both takes and gives back, such as one that runs a main loop, is none of those that are wrong.
std::optional<Event> Suspects::event_in(ObjectId id, const std::string& function, bool put) {
  struct Call {
    Event event;
    std::string caller;
    std::int64_t more = 0;  // of the wanted kind than of the other one
  };
  std::map<Address, Call> calls;
  std::map<std::string, std::int64_t> kept;  // by function: what it was handed more than it gave back
  for (const auto& [event, times] : history_.kinds_of(id)) {
    const bool gives = gives_back(event);
    if (!gives && !acquires(event)) continue;
    const Owner& owner = owners_.of(event);
    if (gives) kept[owner.place] -= times;
    if (owner.place != function) continue;
    Call& call = calls[owner.frame.pc];
    if (gives == put) call.event = event;
    if (!gives) {
      call.caller = caller(event);
      kept[call.caller] += times;
    }
    call.more += gives == put ? times : -std::int64_t{times};
  }
  const Call* best = nullptr;
  const auto rank = [&](const Call& call) {
    return std::tuple(call.more > 0, put ? 0 : kept[call.caller], owners_.of(call.event).frame.line);
  };
  for (const auto& [pc, call] : calls) {
    if (call.event.site.valid() && (best == nullptr || rank(call) > rank(*best))) best = &call;
  }
  if (best == nullptr) return std::nullopt;
  Event event = best->event;
  event.object = id;
  return event;
}

NamedFrame Suspects::in_source(const Event& event) {
  const NamedFrame& owner = owners_.of(event).frame;
  if (!owner.file.empty()) return owner;
  const std::vector<NamedFrame> frames = owners_.outwards(event);
  const auto frame =
      std::find_if(frames.begin(), frames.end(), [](const NamedFrame& one) { return !one.file.empty(); });
  return frame == frames.end() ? owner : *frame;
}

std::string Suspects::usual_end(const std::string& function, const ReferencePairs::Partners& partners) {
  if (partners.empty() || partners.front().second < kUsual) return {};
  const auto& [partner, share] = partners.front();
  if (partner == function) return fmt::format("; it gives back {} of those that it takes", share_text(share));
  return fmt::format("; {} gives back {} of those taken in {}", short_name(partner), share_text(share),
                     short_name(function));
}

bool Suspects::hands_out(const NamedFrame& frame, const Event& taken) {
  const std::string& type = namer_.result_type(frame);
  const bool made = taken.role == Role::init && namer_.returns_counted(taken, frame);
  return !type.empty() && (made || namer_.returns_object(taken, frame) || is_of_type_(taken.object, type));
}

double Suspects::LostReference::share(const std::string& function) const {
  const auto found = std::find_if(partners.begin(), partners.end(),
                                  [&](const auto& partner) { return partner.first == function; });
  return found == partners.end() ? 0 : found->second;
}

bool Suspects::LostReference::on_stack(const std::string& name) const {
  return std::any_of(frames.begin(), frames.end(),
                     [&](const NamedFrame& frame) { return frame.function == name; });
}

const NamedFrame* Suspects::LostReference::holder() const {
  const auto found = std::find_if(frames.begin(), frames.end(), [&](const NamedFrame& frame) {
    return !frame.function.empty() && share(frame.function) >= kUsual;
  });
  return found == frames.end() ? nullptr : &*found;
}

void Suspects::add_lost_reference(EventId id, std::vector<Suspect>& suspects) {
  add_lost_reference(id, history_.event(id), suspects);
}

Suspects::LostReference Suspects::lost_reference(EventId id, const Event& taken) {
  const std::string& function = owners_.of(taken).place;
  LostReference lost{id,
                     taken,
                     function,
                     pairs_.partners_of_taken(pairs_.subject_of(taken.object), function),
                     owners_.outwards(taken),
                     {}};
  if (id.valid()) {
    if (auto partners = event_pairs_.partners_of(taken); !partners.empty())
      lost.partners = std::move(partners);
  }
  lost.usual = usual_end(function, lost.partners);
  return lost;
}

std::optional<LostCall> Suspects::lost_call(ObjectId id) {
  const auto left = event_pairs_.unpaired(id);
  if (!left) return std::nullopt;
  std::optional<LostCall> best;
  for (const EventId taken : left->taken) {
    if (!taken.valid()) continue;
    const LostReference lost = lost_reference(taken, history_.event(taken));
    const auto holder = held_at(lost);
    auto depth = holder.value_or(0);
    while (depth < lost.frames.size() &&
           (lost.frames[depth].file.empty() || lost.frames[depth].function.empty()))
      ++depth;
    if (depth == lost.frames.size() || (best && !holder)) continue;
    best = LostCall{taken, lost.frames[depth].function, {}};
    for (std::size_t i = depth + 1; i < lost.frames.size(); ++i) {
      if (!lost.frames[i].function.empty()) best->outer.push_back(lost.frames[i].function);
    }
    if (holder) break;
  }
  return best;
}

void Suspects::add_lost_reference(EventId id, const Event& taken, std::vector<Suspect>& suspects) {
  const LostReference lost = lost_reference(id, taken);
  add_forgotten(lost, suspects);
  add_overwritten_at_once(lost, suspects);
  add_overwritten_member(lost, false, suspects);
  std::vector<Suspect> left = left_behind(lost);
  const Twice taken_twice = twice(lost);
  std::vector<Suspect> both;
  if (taken_twice != Twice::no) {
    Suspect two{in_source(taken), "missing put", "candidate",
                fmt::format("{} took two references here, one after the other, and one of them was not "
                            "given back",
                            short_name(lost.function))};
    if (taken_twice == Twice::by_two_calls_of_line) two = std::move(two).found_by(Suspect::Basis::twice);
    both.push_back(std::move(two));
  }
  // The same call takes the second one in a later turn of a loop: the way back to it is the likelier place.
  if (taken_twice != Twice::by_one_call) add(suspects, std::move(both));
  if (const auto depth = held_at(lost)) {
    // Whoever had it in hand is the likelier one.
    std::vector<Suspect> held;
    add_held(lost, *depth, held);
    const bool no_way = !held.empty() && held.front().basis == Suspect::Basis::taken;
    if (no_way) add_overwritten_member(lost, true, suspects);
    if (!held.empty()) add(suspects, {held.front()});
    add_dropped(lost, 0, *depth, suspects);
    add(suspects, std::move(held));
  } else {
    // Where it is not always put there, it is likelier that it was not.
    if (event_pairs_.kept_in(taken).on_some_paths)
      add_dropped(lost, 0, 1, suspects);
    else
      add_overwritten_member(lost, true, suspects);
    if (lost.usual.empty()) add(suspects, left);
    add_handed_on(lost, suspects);
  }
  add(suspects, std::move(left));
  if (taken_twice == Twice::by_one_call) add(suspects, std::move(both));
}

// One too many, rather than one that is forgotten on some way out: whoever takes it twice gives back once.
Suspects::Twice Suspects::twice(const LostReference& lost) {
  if (!lost.id.valid() || lost.taken.role == Role::init) return Twice::no;
  Twice found = Twice::no;
  const auto compare = [&](const Event& event) {
    const bool told = found == Twice::by_two_calls || found == Twice::by_two_calls_of_line;
    const Twice both = told ? Twice::no : alike(event, lost.taken);
    if (both != Twice::no) found = both;
  };
  std::optional<Event> before;  // of the object's events, beside it
  bool next = false;
  history_.read_back(lost.taken.object, [&](const EventLog::Entry& entry) {
    if (!acquires(entry.event) && !gives_back(entry.event)) return;
    if (next) compare(entry.event);
    if (entry.id == lost.id && before) compare(*before);
    next = entry.id == lost.id;
    before = entry.event;
  });
  return found;
}

// By the same call of the same function, in the same way.
Suspects::Twice Suspects::alike(const Event& event, const Event& taken) {
  if (!acquires(event) || event.role != taken.role || event.thread != taken.thread) return Twice::no;
  const std::vector<NamedFrame> a = owners_.outwards(event);
  const std::vector<NamedFrame> b = owners_.outwards(taken);
  const bool alike =
      std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const NamedFrame& one, const NamedFrame& other) {
        const bool own = &one == &a.front();
        return one.function == other.function && (own || one.inlined || one.pc == other.pc);
      });
  const SlotNames::Name& one = event_pairs_.kept_in(event);
  const SlotNames::Name& other = event_pairs_.kept_in(taken);
  const bool apart = !one.holder.empty() && !other.holder.empty() && !one.same_place(other);
  if (!alike || apart) return Twice::no;
  if (!a.empty() && a.front().pc == b.front().pc) return Twice::by_one_call;
  return !a.empty() && a.front().line == b.front().line ? Twice::by_two_calls_of_line : Twice::by_two_calls;
}

// The function at this depth, as one that has the reference.
WaysOut::Holding Suspects::holding(const LostReference& lost, std::size_t depth) {
  const FamilyId family = history_.object(lost.taken.object).family;
  const NamedFrame& frame = lost.frames[depth];
  WaysOut::Holding held{family, frame, puts_in(frame.function, family), false, {}};
  const auto called =
      std::find_if(lost.frames.rend() - static_cast<std::ptrdiff_t>(depth), lost.frames.rend(),
                   [](const NamedFrame& one) { return !one.file.empty(); });
  held.elsewhere = depth > 0 && (called == lost.frames.rend() || namer_.result_type(*called).empty());
  held.by_argument = held.elsewhere && called != lost.frames.rend();
  if (depth == 0) held.taker = lost.taken.site;
  if (lost.id.valid()) held.passed = trail_.behind(lost.id, frame);
  return held;
}

void Suspects::add_dropped(const LostReference& lost, std::size_t from, std::size_t to,
                           std::vector<Suspect>& suspects) {
  for (std::size_t i = from; i < to; ++i) {
    const NamedFrame& frame = lost.frames[i];
    if (frame.file.empty() || frame.function.empty()) return;
    const WaysOut::Holding held = holding(lost, i);
    if (held.elsewhere) return;
    add_overwritten(held, suspects);
    for (const NamedFrame& place : ways_out_.dropping(held)) {
      add(suspects,
          {{place, "missing put", "candidate",
            fmt::format("{} took a reference on line {} and leaves here; it does not return, keep or "
                        "give back the reference on this path",
                        short_name(frame.function), frame.line)}});
    }
  }
}

void Suspects::add_overwritten(const WaysOut::Holding& held, std::vector<Suspect>& suspects) {
  for (const NamedFrame& place : ways_out_.overwriting(held)) {
    add(suspects, {{place, "overwritten", "candidate",
                    fmt::format("the variable that has the reference from line {} gets another one here",
                                held.taken.line)}});
  }
}

// By what took it, or calls for whoever is told to have taken it.
void Suspects::add_overwritten_at_once(const LostReference& lost, std::vector<Suspect>& suspects) {
  const FamilyId family = history_.object(lost.taken.object).family;
  for (const NamedFrame& frame : namer_.stack(lost.taken.stack)) {
    if (!frame.file.empty() && !frame.function.empty())
      add_overwritten({family, frame, puts_in(frame.function, family), false, {}}, suspects);
    if (!lost.frames.empty() && frame.pc == lost.frames.front().pc) break;
  }
}

namespace {
/// A container of a library's stores its elements there: one has no other before it, as far as the code
/// tells.
bool is_by_container(const LoadedModule& loaded, Address pc) {
  const std::vector<SourceFrame> frames = loaded.module->code().source_frames(pc - loaded.bias);
  return !frames.empty() && is_system_path(frames.front().file);
}
}  // namespace

const LoadedModule* Suspects::own_module(const Event& event) {
  const LoadedModule* loaded = module_of(namer_.modules(), owners_.of(event).frame);
  return loaded == nullptr || is_system_path(loaded->module->path()) ? nullptr : loaded;
}

void Suspects::add_overwritten_member(const LostReference& lost, bool own, std::vector<Suspect>& suspects) {
  const FamilyId family = history_.object(lost.taken.object).family;
  const LoadedModule* loaded = own_module(lost.taken);
  if (loaded == nullptr) return;
  for (const SlotNames::Name& slot : kept_in(lost)) {
    if (slot.links) continue;
    for (const NamedFrame& place : keeps_.overwrites(family, *loaded, slot)) {
      const bool gives = lost.share(place.function) > 0;  // and clears it then
      if (lost.on_stack(place.function) != own || gives || is_by_container(*loaded, place.pc)) continue;
      add(suspects, {{place, "overwritten", "candidate",
                      fmt::format("{} may have a reference, and gets another pointer here", slot.text)}});
    }
  }
}

// What is given a reference of its own does something with it on each path.
void Suspects::add_forgotten(const LostReference& lost, std::vector<Suspect>& suspects) {
  const LoadedModule* loaded = own_module(lost.taken);
  // Each put of what may be immortal has a path without one.
  if (loaded == nullptr || namer_.may_be_immortal(lost.taken)) return;
  for (const NamedFrame& place : keeps_.forgotten(history_.object(lost.taken.object).family, *loaded)) {
    add(suspects, {{place, "missing put", "candidate",
                    fmt::format("{} gives back the reference that it is given, or passes it on; this path "
                                "does neither",
                                short_name(place.function))}});
  }
}

std::vector<Suspect> Suspects::left_behind(const LostReference& lost) {
  std::vector<Suspect> suspects;
  const FamilyId family = history_.object(lost.taken.object).family;
  const LoadedModule* loaded = own_module(lost.taken);
  if (loaded == nullptr) return suspects;
  for (const SlotNames::Name& slot : kept_in(lost)) {
    for (const NamedFrame& place : keeps_.left_behind(family, *loaded, slot)) {
      Suspect ended{place, "missing put", "candidate",
                    fmt::format("{} has the reference; {} destroys its holder here without giving it back",
                                slot.text, short_name(place.function))};
      add(suspects, {std::move(ended).found_by(Suspect::Basis::left_behind)});
    }
  }
  return suspects;
}

// Or from where those give it back that usually do.
std::vector<SlotNames::Name> Suspects::kept_in(const LostReference& lost) {
  std::vector<SlotNames::Name> slots;
  const auto add = [&](const SlotNames::Name& slot) {
    const bool known = std::any_of(slots.begin(), slots.end(),
                                   [&](const SlotNames::Name& one) { return one.same_place(slot); });
    if (slot.holder.empty() || known) return;
    slots.push_back(slot);
    if (slot.inner_holder.empty() || slot.inner_holder.starts_with("std::")) return;
    SlotNames::Name inner = slot;
    inner.holder = slot.inner_holder;
    inner.member = slot.inner_member;
    inner.offset = slot.inner_offset;
    inner.inner_holder.clear();
    slots.push_back(std::move(inner));
  };
  add(event_pairs_.kept_in(lost.taken));
  for (const auto& [partner, share] : lost.partners) {
    if (share < kOften) continue;
    for (const NamedFrame& put : puts_in(partner, history_.object(lost.taken.object).family))
      add(ways_out_.kept_in(put, CallDoes::give_back));
  }
  return slots;
}

void Suspects::add_held(const LostReference& lost, std::size_t depth, std::vector<Suspect>& suspects) {
  const NamedFrame& frame = lost.frames[depth];
  const WaysOut::Holding held = holding(lost, depth);
  add_overwritten(held, suspects);
  const std::vector<WaysOut::Place> ways = ways_out_.behind(held);
  const std::string name = short_name(frame.function);
  const std::string has = depth == 0 ? fmt::format("{} took a reference", name)
                                     : fmt::format("{} received the reference that {} took for it", name,
                                                   short_name(lost.function));
  const auto missing = [&](const NamedFrame& place, std::string why) {
    return Suspect{place, "missing put", "candidate", std::move(why)};
  };
  if (ways.empty()) {
    for (const NamedFrame& place : ways_out_.leaving(held)) {
      add(suspects, {missing(place, fmt::format("{} on line {} and leaves here without giving it back", has,
                                                frame.line))});
    }
  }
  if (ways.empty() && suspects.empty() && lost.taken.role == Role::init) add_last_use(lost, depth, suspects);
  const bool own = depth == 0 && lost.holder() != nullptr;
  Suspect here = missing(
      frame, depth == 0 ? fmt::format("{} here and did not give it back{}", has, own ? lost.usual : "")
                        : fmt::format("{} and did not give it back; other callers like it do", has));
  add_with_ways(ways, {std::move(here).found_by(Suspect::Basis::taken)}, suspects);
}

// A reference from a birth is left over where the last call that gets it was thought to take it over: unless
// it is known who gives such a one back.
void Suspects::add_last_use(const LostReference& lost, std::size_t owner, std::vector<Suspect>& suspects) {
  const NamedFrame& frame = lost.frames[owner];
  if (frame.file.empty() || frame.function.empty()) return;
  for (const NamedFrame& place : ways_out_.last_uses(holding(lost, owner))) {
    add(suspects, {{place, "missing put", "candidate",
                    fmt::format("{} got the reference on line {} and uses it here for the last time; nothing "
                                "gives it back",
                                short_name(frame.function), frame.line)}});
  }
}

void Suspects::add_handed_on(const LostReference& lost, std::vector<Suspect>& suspects) {
  const FamilyId family = history_.object(lost.taken.object).family;
  const bool keeps = lost.share(lost.function) >= kSeldom;
  std::size_t owner = 0;
  const auto goes_on = [&] {
    return hands_out(lost.frames[owner], lost.taken) ||
           (owner == 0 && lost.taken.role == Role::init && !lost.partners.empty());
  };
  while (!keeps && owner + 1 < lost.frames.size() && !lost.frames[owner + 1].file.empty() && goes_on())
    ++owner;
  std::vector<Suspect> here;
  if (lost.taken.role == Role::init && lost.usual.empty()) add_last_use(lost, owner, here);
  const auto unmatched = [&](const NamedFrame& frame, std::string why) {
    Suspect suspect{frame, "missing put", "candidate", std::move(why)};
    here.push_back(std::move(suspect).found_by(Suspect::Basis::unmatched));
  };
  if (owner > 0) {
    unmatched(lost.frames[owner], fmt::format("no put matches the reference that {} returns here{}",
                                              short_name(lost.frames[owner - 1].function), lost.usual));
  }
  if (owner == 0 || lost.usual.empty())
    unmatched(in_source(lost.taken), fmt::format("no put matches the reference taken here{}", lost.usual));
  std::vector<WaysOut::Place> ways;
  std::size_t seldom = 0;
  for (const auto& [partner, share] : lost.partners) {
    if (lost.on_stack(partner) || (share < kOften && ++seldom > kMostSeldom)) continue;
    const auto& some = ways_out_.from_begin(family, puts_in(partner, family));
    // What keeps it on some paths was given it for good.
    const bool keeps = std::any_of(some.begin(), some.end(), std::mem_fn(&WaysOut::Place::stored));
    for (const WaysOut::Place& way : some) {
      const bool forgotten = keeps && !way.stored && !way.passed_on;
      if (share >= kOften || way.in_hand || forgotten) ways.push_back(way);
    }
  }
  add_with_ways(ways, std::move(here), suspects);
  if (!lost.usual.empty()) {
    add(suspects, {{example_of(lost.partners.front().first, family, true), "missing put", "candidate",
                    lost.usual.substr(2)}});
  }
}

// A way back to the next reference that has no code of its own, as most `continue` have none, is told by the
// line of its branch, which is seldom the one that has to be changed.
void Suspects::add_with_ways(const std::vector<WaysOut::Place>& ways, std::vector<Suspect> here,
                             std::vector<Suspect>& suspects) {
  for (const bool last : {false, true}) {
    for (const WaysOut::Place& way : ways) {
      if ((way.no_line || way.handed_over) != last) continue;
      if (way.moved) {
        add(suspects, {{way.frame, "overwritten", "candidate",
                        fmt::format("{} puts the reference in another variable here, which may have one from "
                                    "an earlier turn of the loop",
                                    short_name(way.frame.function))}});
        continue;
      }
      Suspect out{
          way.frame, "missing put", "candidate",
          fmt::format("this exit path of {} gives nothing back; others do", short_name(way.frame.function))};
      add(suspects,
          {std::move(out).found_by(way.own_line ? Suspect::Basis::way_out : Suspect::Basis::way_shared)});
    }
    add(suspects, std::move(here));
    here.clear();
  }
}

std::vector<Suspect> Suspects::ways_out_of(const std::string& function, FamilyId family) {
  std::vector<WaysOut::Place> ways = ways_out_.from_begin(family, puts_in(function, family));
  std::erase_if(ways, [](const WaysOut::Place& way) { return way.no_line; });
  std::vector<Suspect> suspects;
  add_with_ways(ways, {}, suspects);
  return suspects;
}

// Where others give back as well, the put is right, and what it gave back was not taken.
void Suspects::add_extra_put(const Event& put, const std::string& function, std::vector<Suspect>& suspects) {
  const FamilyId family = history_.object(put.object).family;
  const ReferencePairs::Partners partners = pairs_.partners_of_put(pairs_.subject_of(put.object), function);
  std::vector<Suspect> missing = missing_gets(put, partners);
  const bool usual = event_pairs_.is_usual_put(put);
  if (usual) add_stores_of_all(put.object, missing);
  if (usual || missing.size() <= kFewPlaces || !event_pairs_.kept_in(put).holder.empty())
    add(suspects, missing);
  add(suspects, {{in_source(put), "extra put", "candidate", "no reference matches the put here"}});
  if (!partners.empty() && partners.front().second >= kUsual) {
    const auto& [partner, share] = partners.front();
    add(suspects, {{example_of(partner, family, false), "missing get", "candidate",
                    fmt::format("{} of the references that {} gives back are taken here", share_text(share),
                                short_name(function))}});
  }
  add(suspects, missing);
}

// The function made the put itself, or had the reference in hand that the put gave back.
bool Suspects::owned_reference(const LateUse& late) {
  const Event put = history_.event(late.given_back);
  const std::string& function = late.use.function;
  const LoadedModule* loaded = own_module(put);
  const auto same = loaded == nullptr
                        ? std::nullopt
                        : keeps_.uses_given(history_.object(put.object).family, *loaded,
                                            late.put.pc - loaded->bias, late.use.pc - loaded->bias);
  if (owners_.of(put).place == function) return same.value_or(true);
  if (!same.value_or(false)) return false;
  if (inside_another_put(put, function)) return false;
  const auto references = event_pairs_.references(put.object);
  if (!references) return false;
  for (const EventPairs::Reference& one : references->all) {
    if (one.given_back != late.given_back || !one.taken.valid()) continue;
    const Event taken = history_.event(one.taken);
    const std::vector<NamedFrame> frames = owners_.outwards(taken);
    const bool passed_on = frames.size() > 1 && !namer_.hands_nothing_out(frames[0]);
    const auto end = frames.begin() + (passed_on ? 2 : std::min<std::ptrdiff_t>(std::ssize(frames), 1));
    return event_pairs_.kept_in(taken).text.empty() &&
           std::any_of(frames.begin(), end,
                       [&](const NamedFrame& frame) { return frame.function == function; });
  }
  return false;
}

// It uses the object itself, which it has looked up before: what its call has given back was another's, and a
// right one.
bool Suspects::borrowed(const LateUse& late, bool balanced) {
  const std::string& user = late.use.function;
  return balanced && late.itself && !namer_.is_put(user) &&
         !inside_another_put(history_.event(late.given_back), user) &&
         trail_.leads_to(late.given_back, late.put, late.used) &&
         trail_.before(late.given_back, late.put).taken == 0;
}

// Something else has ended there, and it was that one's reference.
bool Suspects::inside_another_put(const Event& put, const std::string& caller) {
  const std::vector<NamedFrame> frames = owners_.outwards(put);
  const auto end = std::find_if(frames.begin(), frames.end(),
                                [&](const NamedFrame& frame) { return frame.function == caller; });
  return std::any_of(frames.begin(), end,
                     [&](const NamedFrame& frame) { return namer_.is_put(frame.function); });
}

std::optional<Suspect> Suspects::put_in(ObjectId id, const std::string& function, std::string why) {
  const auto put = event_in(id, function, true);
  if (!put) return std::nullopt;
  return Suspect{in_source(*put), "missing put", "candidate", std::move(why)};
}

std::vector<Suspect> Suspects::of_reference(EventId id) {
  const Event taken = history_.event(id);
  std::vector<Suspect> suspects;
  add_lost_reference(id, taken, suspects);
  add(suspects, {{in_source(taken), "missing put", "candidate",
                  "nothing gave back the reference that was taken here"}});
  return suspects;
}

// What was taken inside of a library without source is told only behind what the counts of functions say: its
// ways of passing references on are not seen.
std::vector<Suspect> Suspects::of_surplus(ObjectId id, const Counts& taken, const Counts& given_back) {
  std::vector<Suspect> suspects;
  const auto left = event_pairs_.unpaired(id);
  const bool in_source = left && std::none_of(left->taken.begin(), left->taken.end(), [&](EventId event) {
                           return owners_.of(history_.event(event)).frame.file.empty();
                         });
  if (!in_source) add_unpaired(id, taken, given_back, suspects);
  if (!left) return suspects;
  for (const EventId event : left->taken) add_lost_reference(event, suspects);
  if (left->before_seen != 0) add_first_reference(id, suspects);
  return suspects;
}

void Suspects::add_unpaired(ObjectId id, const Counts& taken, const Counts& given_back,
                            std::vector<Suspect>& suspects) {
  for (const auto& [function, times] : pairs_.unpaired(pairs_.subject_of(id), taken, given_back).taken) {
    if (const auto event = event_in(id, function, false)) {
      add_lost_reference(EventId(), *event, suspects);
    } else {
      add_first_reference(id, suspects);
    }
  }
}

// Functions from this depth on return the object: it is for their callers to give back.
void Suspects::add_returned(EventId first, std::size_t depth, std::vector<Suspect>& suspects) {
  LostReference lost = lost_reference(first, history_.event(first));
  std::size_t owner = depth;
  while (owner + 1 < lost.frames.size() && !lost.frames[owner + 1].file.empty() &&
         namer_.returns_counted(lost.taken, lost.frames[owner]))
    ++owner;
  if (owner == depth) return;
  lost.function = lost.frames[owner - 1].function;
  add_dropped(lost, depth + 1, owner + 1, suspects);
  add_held(lost, owner, suspects);
}

// Whoever has called into the family's own source file then has got it.
void Suspects::add_first_reference(ObjectId id, std::vector<Suspect>& suspects) {
  const EventId first = history_.object(id).first_event;
  if (!first.valid() || !history_.log().contains(first)) return;
  const Event seen = history_.event(first);
  if (!seen.stack.valid()) return;
  const std::vector<NamedFrame> stack = namer_.stack(seen.stack);
  const std::vector<NamedFrame> frames = owners_.outwards(seen);
  const auto outside = std::find_if(frames.begin(), frames.end(), [&](const NamedFrame& frame) {
    return !frame.file.empty() && frame.file != stack.front().file;
  });
  const NamedFrame& frame = outside == frames.end() ? in_source(seen) : *outside;
  if (outside != frames.end()) add_returned(first, outside - frames.begin(), suspects);
  if (outside != frames.end()) {
    const FamilyId family = history_.object(id).family;
    const WaysOut::Holding held{family, frame, puts_in(frame.function, family), true,
                                trail_.behind(first, frame)};
    for (const NamedFrame& place : ways_out_.leaving(held)) {
      add(suspects, {{place, "missing put", "candidate",
                      fmt::format("{} leaves here, and no put matches the reference that the object had when "
                                  "it was first seen, on line {}",
                                  short_name(frame.function), frame.line)}});
    }
  }
  add(suspects, {{frame, "missing put", "candidate",
                  "no put matches the reference that the object had when it was first seen here"}});
}

// The oldest of those that nothing gave back, taken after the other members were born. What a library's
// objects have of each other need not be references, where released ones had it too.
std::optional<Suspect> Suspects::of_cycle(ObjectId id, EventId since, const Counts& taken,
                                          const Counts& given_back, const IsUsual& is_usual) {
  const Counts unpaired = pairs_.unpaired(pairs_.subject_of(id), taken, given_back).taken;
  const auto left = event_pairs_.unpaired(id);
  const auto is_lost = [&](EventId event) {
    return left && std::find(left->taken.begin(), left->taken.end(), event) != left->taken.end();
  };
  std::optional<Event> best;
  int best_rank = -1;
  bool all_usual = true;
  history_.read_back(id, [&](const EventLog::Entry& entry) {
    const Event& event = entry.event;
    if (!acquires(event) || event.role == Role::init) return;
    const std::string& owner = owners_.of(event).place;
    const bool later = !since.valid() || since < entry.id;
    const bool usual = is_usual(owner);
    const int rank =
        (usual ? 0 : 8) + (later ? 4 : 0) + (is_lost(entry.id) ? 2 : 0) + (unpaired.contains(owner) ? 1 : 0);
    all_usual &= usual;
    if (rank < best_rank) return;
    best = event;
    best_rank = rank;
  });
  if (!best || (all_usual && is_library_call(*best))) return std::nullopt;
  return Suspect{in_source(*best), "strong reference", "candidate",
                 "the reference taken here closes the cycle; a weak one would not keep it alive"};
}

bool Suspects::is_library_call(const Event& event) {
  const std::vector<NamedFrame> frames = namer_.stack(event.stack);
  return !frames.empty() && is_system_path(frames.front().module);
}

bool Suspects::lost_by_holder(ObjectId id) {
  const auto left = event_pairs_.unpaired(id);
  return left && std::any_of(left->taken.begin(), left->taken.end(), [&](EventId taken) {
           const auto holder = event_pairs_.usual_holder(history_.event(taken));
           return holder && holder->share >= kUsual;
         });
}

std::vector<Suspect> Suspects::of_deficit(ObjectId id, const Counts& taken, const Counts& given_back) {
  std::vector<Suspect> suspects;
  const auto late = late_use(history_, namer_, id);
  const auto left = event_pairs_.unpaired(id);
  const bool balanced = left && left->given_back.empty();
  const auto get = balanced ? late_get(history_, id) : std::nullopt;
  if (get) {
    const bool own = late && late->is_get;
    const NamedFrame frame = own ? late->use : namer_.owner(*get);
    const std::string before =
        own ? fmt::format("after its call on line {} gave the last one back", late->put.line)
            : "after the last one was given back";
    add(suspects, {{frame, "late get", "candidate",
                    fmt::format("{} takes a reference here, {}", short_name(frame.function), before)}});
  }
  BorrowedPuts puts = borrowed_puts(id);
  // The one that lay there before may have been put too often: whoever still had it has put this one.
  const ObjectId before = history_.object(id).earlier;
  if (puts.borrowed.empty() && before.valid() && history_.object(before).state == ObjectState::dead)
    puts.borrowed = borrowed_puts(before).borrowed;
  add(suspects, std::move(puts.borrowed));
  add_given(id, suspects);
  const auto add_put = [&](EventId put) {
    const Event event = history_.event(put);
    add_extra_put(event, owners_.of(event).place, suspects);
  };
  // Where another put has no reference, the object ended too early, and whoever used it then had a right to.
  const auto is_other = [&](EventId put) { return put != late->given_back; };
  if (late && !late->is_get &&
      (!left || std::none_of(left->given_back.begin(), left->given_back.end(), is_other))) {
    const bool owned = owned_reference(*late);
    if (owned || borrowed(*late, balanced))
      add(suspects, {{late->use, "late use", "candidate",
                      fmt::format("{} gave {} back on line {}, and uses the object afterwards",
                                  short_name(late->use.function),
                                  owned ? "its reference" : "the last reference", late->put.line)}});
  }
  std::vector<Suspect> stores;
  if (!get) add_stores_of_all(id, stores);
  if (stores.size() <= kFewPlaces) add(suspects, stores);
  if (const auto put = event_pairs_.extra_put_before(id)) add_put(*put);
  if (left) {
    for (const EventId put : left->given_back) add_put(put);
    const auto put = left->given_back.empty() ? event_pairs_.put_for_another(id) : std::nullopt;
    if (put) add_put(*put);
  } else {
    for (const auto& [function, times] :
         pairs_.unpaired(pairs_.subject_of(id), taken, given_back).given_back) {
      if (const auto event = event_in(id, function, true)) add_extra_put(*event, function, suspects);
    }
  }
  add(suspects, std::move(stores));
  const bool vague = suspects.empty() || (suspects.front().what == "extra put" &&
                                          suspects.front().basis == Suspect::Basis::other);
  if (vague) std::swap(suspects, puts.again);
  add(suspects, std::move(puts.again));
  return suspects;
}

}  // namespace refhist
