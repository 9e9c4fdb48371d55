#include "analysis/leaks.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "analysis/named_suspect.h"
#include "base/short_name.h"
#include "base/text.h"

namespace refhist {

namespace {

constexpr std::size_t kMostSiblings = 5000;  // of a birthplace that are looked at, evenly spread

constexpr std::size_t kMostShown = 200;  // objects of a family whose stacks are read

// Events that are read to get those of one object, more or less: half a block for each of a few.
constexpr std::size_t kReadForOne = 100;
// So many are released for each that is held to the end: else nothing says that it should have been.
constexpr std::size_t kReleasedForHeld = 2;
constexpr std::size_t kFewest = 3;        // objects that show what is usual
constexpr std::size_t kMostPaired = 100;  // members of a lost cycle whose gets and puts are paired

std::vector<ObjectId> evenly_spread(const std::vector<ObjectId>& all, std::size_t most) {
  most = std::min(most, all.size());
  std::vector<ObjectId> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

bool is_outstanding(const Object& object) {
  return object.state == ObjectState::live && (object.ledger > 0 || !object.base_known);
}

}  // namespace

int LeakFinder::times(const PlaceCounts& counts, const std::string& place) {
  const auto found = counts.find(place);
  return found == counts.end() ? 0 : found->second;
}

std::unordered_set<ObjectId> blamed_objects(const History& history) {
  std::unordered_set<ObjectId> blamed;
  for (const Finding& finding : history.findings()) blamed.insert(finding.object);
  return blamed;
}

bool released_clean(ObjectId id, const Object& object, const std::unordered_set<ObjectId>& blamed) {
  return object.state == ObjectState::dead && object.complete && !object.moved_unobserved &&
         !blamed.contains(id);
}

LeakFinder::LeakFinder(const History& history, const SiteTable& sites,
                       const std::vector<TrackedFamily>& families, FrameNamer& namer,
                       const FoldedPlaces& folded, ManagedObjects& managed,
                       const std::vector<ConfirmedPlace>& confirmed)
    : history_(history),
      families_(families),
      folded_(folded),
      confirmed_(confirmed),
      managed_(managed),
      blamed_(blamed_objects(history)),
      owners_(namer),
      pairs_(
          owners_,
          [this](ObjectId id) {
            const Object& object = history_.object(id);
            return ReferencePairs::Subject{object.family, births_.of(object).number};
          },
          [this](FamilyId family) { return clean_kinds(family); }),
      event_pairs_(history, namer, owners_, pairs_, ways_out_,
                   [this](const ReferencePairs::Subject& subject) { return released_like(subject); }),
      depth_(history, owners_, pairs_, [this](FamilyId family) { return some_released(family); }),
      ways_out_(namer.modules(), sites, namer.code_graph()),
      keeps_(namer.modules(), sites, namer.code_graph()),
      sinks_(namer.modules(), sites, namer.code_graph(), keeps_),
      suspects_(
          history, namer, owners_, pairs_, event_pairs_, depth_, ways_out_, keeps_, sinks_,
          [this](const std::string& function, FamilyId family, bool put) {
            return places_of(function, family, put);
          },
          [this](ObjectId id, const std::string& type) { return is_of_type(id, type); }),
      births_(history, sites, namer) {}

void LeakFinder::sum_profiles() {
  summed_ = true;
  history_.log().for_each(EventId(0U), [&](const EventLog::Entry& entry) {
    sums_[entry.event.object] += owner_sums_.of(entry.origin, entry.event);
  });
  for (const auto& [id, folded] : history_.all_folded_events()) {
    for (const auto& [event, times] : history_.folded_life_of(id)) sums_[id] += times * owner_sums_.of(event);
  }
  for (const auto& [id, object] : history_.objects()) {
    if (!object.complete) sums_[id] += sum_before(id);
  }
}

std::uint64_t LeakFinder::sum_before(ObjectId id) {
  const auto references = static_cast<std::uint64_t>(history_.before_seen(id));
  return references == 0 ? 0 : references * OwnerSums::of(false, kBefore);
}

LeakFinder::Profile LeakFinder::profile(ObjectId id) {
  return summed_ ? profile_by(sums_[id], id) : read_profile(id);
}

const LeakFinder::Profile& LeakFinder::profile_by(std::uint64_t sum, ObjectId id) {
  const std::uint64_t family = history_.object(id).family.index() + 1;
  const std::uint64_t key = sum + family * 0x9e3779b97f4a7c15ULL;
  const auto found = by_sum_.find(key);
  return found != by_sum_.end() ? found->second : by_sum_.emplace(key, read_profile(id)).first->second;
}

std::vector<std::uint64_t> LeakFinder::sums_of(const std::vector<ObjectId>& ids) {
  std::vector<std::uint64_t> sums(ids.size());
  if (summed_) {
    std::transform(ids.begin(), ids.end(), sums.begin(), [&](ObjectId id) { return sums_[id]; });
    return sums;
  }
  history_.read_lives(ids, [&](std::size_t index, const EventLog::Entry& entry) {
    sums[index] += owner_sums_.of(entry.origin, entry.event);
  });
  for (std::size_t i = 0; i < ids.size(); ++i) {
    sums[i] += sum_before(ids[i]);
    for (const auto& [event, times] : history_.folded_life_of(ids[i]))
      sums[i] += times * owner_sums_.of(event);
  }
  return sums;
}

LeakFinder::Profile LeakFinder::read_profile(ObjectId id) {
  const FamilyId family = history_.object(id).family;
  Profile result;
  const auto count = [&](const Event& event, int times) {
    if (!acquires(event) && !gives_back(event)) return;
    const Owner& owner = owners_.of(event);
    const bool put = gives_back(event);
    (put ? result.put : result.acquired)[owner.place] += times;
    add_place(put ? put_places_ : get_places_, family, owner);
  };
  for (const auto& [event, times] : history_.kinds_of(id)) count(event, static_cast<int>(times));
  if (const std::int64_t before = history_.before_seen(id); before > 0)
    result.acquired[kBefore] = static_cast<int>(before);
  if (told_twice(id, result)) take_out_first_gets(id, result);
  return result;
}

// A constructor that begins with a get: its init event tells of the same reference.
bool LeakFinder::told_twice(ObjectId id, const Profile& told) {
  const Object& object = history_.object(id);
  if (!object.base_known || object.moved_unobserved || !object.born.valid()) return false;
  if (object.born == object.first_event || !history_.log().contains(object.born)) return false;
  std::int64_t more = 0;
  for (const auto& [place, times] : told.acquired) more += times;
  for (const auto& [place, times] : told.put) more -= times;
  return more > object.ledger && history_.event(object.born).role == Role::init;
}

void LeakFinder::take_out_first_gets(ObjectId id, Profile& told) {
  const EventId born = history_.object(id).born;
  history_.read_back(id, [&](const EventLog::Entry& entry) {
    if (entry.id >= born || !acquires(entry.event)) return;
    const auto place = told.acquired.find(owners_.of(entry.event).place);
    if (place != told.acquired.end() && --place->second == 0) told.acquired.erase(place);
  });
}

LeakFinder::Profile LeakFinder::profile_of(const FoldedKind& kind) {
  Profile result;
  for (const auto& [number, times] : kind.counts) {
    const FoldedOwner& owner = folded_.owners()[number];
    (owner.put ? result.put : result.acquired)[owner.place] = static_cast<int>(times);
    add_place(owner.put ? put_places_ : get_places_, owner.family, {owner.frame, owner.place});
  }
  return result;
}

std::string LeakFinder::Siblings::count_text() const {
  return looked_at == all ? std::to_string(all) : fmt::format("{} of {}", looked_at, all);
}

LeakFinder::Kinds LeakFinder::kinds_of(const std::vector<ObjectId>& objects) {
  const std::vector<ObjectId> chosen = evenly_spread(objects, kMostSiblings);
  std::unordered_map<std::uint64_t, std::pair<ObjectId, std::size_t>> alike;  // by sum: one, and how many
  const std::vector<std::uint64_t> sums = sums_of(chosen);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    ++alike.try_emplace(sums[i], chosen[i], 0).first->second.second;
  Kinds kinds;
  for (const auto& [sum, kind] : alike) kinds[profile_by(sum, kind.first)] += kind.second;
  return kinds;
}

LeakFinder::Siblings LeakFinder::siblings_of(const std::vector<ObjectId>& clean, const Birthplace& place) {
  Siblings siblings;
  siblings.all = clean.size();
  siblings.looked_at = std::min(clean.size(), kMostSiblings);
  siblings.kinds = kinds_of(clean);
  if (const FoldedPlace* folded = folded_.find(place); folded != nullptr) {
    siblings.all += folded->objects;
    siblings.looked_at += folded->objects - folded->other_kinds;
    for (const FoldedKind& kind : folded->kinds) siblings.kinds[profile_of(kind)] += kind.objects;
  }
  return siblings;
}

std::vector<ReferencePairs::Kind> LeakFinder::clean_kinds(FamilyId family) {
  std::map<std::size_t, std::pair<const Birthplace*, std::vector<ObjectId>>> by_place;
  for (const auto& [id, object] : history_.objects()) {
    const bool ended = object.state == ObjectState::dead && object.base_known && !object.moved_unobserved;
    if (object.family != family || !ended || blamed_.contains(id)) continue;
    const Birthplace& place = births_.of(object);
    auto& [known, objects] = by_place[place.number];
    known = &place;
    objects.push_back(id);
  }
  for (const FoldedPlace& folded : folded_.places()) {
    const Birthplace& place = births_.same(folded.place);
    if (place.family == family) by_place[place.number].first = &place;
  }
  std::vector<ReferencePairs::Kind> kinds;
  for (const auto& [number, born] : by_place) {
    for (const auto& [profile, objects] : siblings_of(born.second, *born.first).kinds)
      kinds.push_back({profile.acquired, profile.put, objects, number});
  }
  return kinds;
}

std::vector<ObjectId> LeakFinder::some_released(FamilyId family) {
  std::vector<ObjectId> all;
  for (const auto& [id, object] : history_.objects()) {
    if (object.family == family && released_clean(id, object, blamed_)) all.push_back(id);
  }
  return evenly_spread(all, kMostShown);
}

std::map<FamilyId, std::map<std::size_t, LeakFinder::BornAt>>& LeakFinder::born_at() {
  if (!born_at_.empty()) return born_at_;
  for (const auto& [id, object] : history_.objects()) {
    BornAt& born = born_at_[object.family][births_.of(object).number];
    if (released_clean(id, object, blamed_)) born.released.push_back(id);
    if (is_outstanding(object) && object.complete && !object.moved_unobserved) born.living.push_back(id);
  }
  return born_at_;
}

std::vector<std::pair<ObjectId, double>> LeakFinder::released_like(const ReferencePairs::Subject& subject) {
  constexpr double kElsewhere = 0.1;  // as in ReferencePairs
  constexpr std::size_t kMostLike = 60;
  std::vector<std::pair<ObjectId, double>> some;
  const auto add = [&](const std::vector<ObjectId>& all, double weight) {
    for (const ObjectId id : evenly_spread(all, kMostLike)) some.emplace_back(id, weight);
  };
  std::vector<ObjectId> other;
  for (const auto& [place, born] : born_at()[subject.family]) {
    const std::vector<ObjectId>& ids = born.released;
    if (place == subject.birthplace) {
      add(ids, 1);
    } else {
      for (std::size_t i = 0; i < std::min(ids.size(), kMostLike); ++i) other.push_back(ids[i]);
    }
  }
  add(other, kElsewhere);
  return some;
}

bool LeakFinder::is_of_type(ObjectId id, const std::string& type) {
  const auto known = managed_.of(id);
  return known && known->type == type;
}

NamedFrame LeakFinder::example_of(const std::string& function, FamilyId family, bool put) {
  const std::vector<NamedFrame> places = places_of(function, family, put);
  return places.empty() ? NamedFrame{} : places.front();
}

std::vector<NamedFrame> LeakFinder::places_of(const std::string& function, FamilyId family, bool put) {
  const auto& places = put ? put_places_ : get_places_;
  const auto found = places.find({family.value, function});
  return found == places.end() ? std::vector<NamedFrame>() : found->second;
}

void LeakFinder::add_place(Places& places, FamilyId family, const Owner& owner) {
  constexpr std::size_t kMost = 64;
  std::vector<NamedFrame>& known = places[{family.value, owner.place}];
  const bool same = std::any_of(known.begin(), known.end(),
                                [&](const NamedFrame& other) { return other.pc == owner.frame.pc; });
  if (!same && known.size() < kMost) known.push_back(owner.frame);
}

void LeakFinder::add_confirmed(LeakGroup& group) const {
  for (const ConfirmedPlace& place : confirmed_) {
    if (std::find(group.objects.begin(), group.objects.end(), place.object) == group.objects.end()) continue;
    Suspects::put_first(place.suspect, group.suspects);
    return;
  }
}

EventId LeakFinder::kept_call(ObjectId id, const LostCall& lost, const std::string& function) {
  if (const EventId own = kept_call_of(id, lost, function); own.valid()) return own;
  const Object& object = history_.object(id);
  for (const auto& [other, weight] : released_like({object.family, births_.of(object).number})) {
    if (const EventId found = kept_call_of(other, lost, function); found.valid()) return found;
  }
  return {};
}

// Both in one call of the function.
EventId LeakFinder::kept_call_of(ObjectId id, const LostCall& lost, const std::string& function) {
  const auto references = event_pairs_.references(id);
  if (!references) return {};
  const auto in_function = [&](EventId event) {
    const std::vector<NamedFrame> frames = owners_.outwards(history_.event(event));
    return std::any_of(frames.begin(), frames.end(),
                       [&](const NamedFrame& frame) { return frame.function == function; });
  };
  for (const EventPairs::Reference& reference : references->all) {
    if (!reference.taken.valid() || !reference.given_back.valid() || reference.taken == lost.taken) continue;
    const Event taken = history_.event(reference.taken);
    if (taken.thread == history_.event(reference.given_back).thread && in_function(reference.taken) &&
        in_function(reference.given_back))
      return reference.taken;
  }
  return {};
}

std::vector<ObjectId> LeakFinder::living_beside(ObjectId id, const std::vector<ObjectId>& born) {
  std::vector<ObjectId> chosen = evenly_spread(born, kMostSiblings);
  std::erase(chosen, id);
  return chosen;
}

std::vector<Suspect> LeakFinder::suspects_of(ObjectId id) {
  const Object& object = history_.object(id);
  const Birthplace& place = births_.of(object);
  const BornAt& born = born_at()[object.family][place.number];
  const Profile own = profile(id);
  std::vector<Suspect> suspects = suspects_.of_deficit(id, own.acquired, own.put);
  const Siblings clean = siblings_of(born.released, place);
  const bool ranked = !suspects.empty() && (suspects.front().basis != Suspect::Basis::other ||
                                            suspects.front().what != "extra put");
  if (!ranked) {
    if (auto extra = put_too_many(id, own, clean, born)) Suspects::put_first(std::move(*extra), suspects);
  }
  if (clean.looked_at != 0) {
    std::vector<Suspect> unusual;
    add_unusual_puts(object.family, own, clean, unusual);
    if (!suspects.empty() && suspects.front().what == "late use" && clean.looked_at >= kFewest)
      put_strange_first(unusual, clean, suspects);
    Suspects::add(suspects, std::move(unusual));
  }
  suspects_.finish(suspects);
  name_first(suspects);
  for (const ConfirmedPlace& place : confirmed_) {
    if (place.object == id) Suspects::put_first(place.suspect, suspects);
  }
  return suspects;
}

bool LeakFinder::puts_births(EventId birth, const std::string& function) {
  const Event event = history_.event(birth);
  const ReferencePairs::Partners partners = pairs_.partners_of_put(pairs_.subject_of(event.object), function);
  return !partners.empty() && partners.front().first == owners_.of(event).place;
}

bool LeakFinder::gets_from_callee(const std::string& function, FamilyId family) {
  if (!callers_known_) {
    callers_known_ = true;
    std::set<std::uint64_t> seen;
    history_.log().for_each(EventId(std::uint32_t{0}), [&](const EventLog::Entry& entry) {
      const Event& event = entry.event;
      const bool get = event.role == Role::get || event.role == Role::try_get;
      if (!get || !seen.insert(std::uint64_t{event.site.value} << 32U | event.stack.value).second) return;
      const std::vector<NamedFrame> frames = owners_.outwards(event);
      if (frames.size() > 1) callers_.emplace(history_.object(event.object).family, frames[1].function);
    });
  }
  return callers_.contains({family, function});
}

// Whoever has used it then has given back no more than others do.
void LeakFinder::put_strange_first(const std::vector<Suspect>& unusual, const Siblings& clean,
                                   std::vector<Suspect>& suspects) {
  const auto put_in = [&](const std::string& function) {
    return clean.count_if([&](const Profile& sibling) { return times(sibling.put, function) != 0; });
  };
  std::vector<Suspect> strange;
  for (const Suspect& put : unusual) {
    if (put_in(put.frame.function) == 0 && put.frame.function != suspects.front().frame.function)
      strange.push_back(put);
  }
  Suspects::add(strange, std::move(suspects));
  suspects = std::move(strange);
}

void LeakFinder::add_unusual_puts(FamilyId family, const Profile& own, const Siblings& clean,
                                  std::vector<Suspect>& suspects) {
  for (const auto& [function, count] : own.put) {
    const std::size_t as_often = clean.count_if([&, &function = function, n = count](const Profile& sibling) {
      return times(sibling.put, function) >= n;
    });
    if (as_often != 0) continue;
    Suspects::add(
        suspects,
        {Suspect{example_of(function, family, true), "extra put", "candidate",
                 fmt::format("{} put it {}; none of {} released objects was put there that often",
                             short_name(function), count == 1 ? "once" : fmt::format("{} times", count),
                             clean.count_text())}});
  }
}

LeakFinder::Profile LeakFinder::at_zero(ObjectId id, PlaceCounts& passed) {
  constexpr std::size_t kMost = 200;  // events
  Profile told;
  if (history_.object(id).events > kMost) return told;
  std::string newest;
  for (const auto& [event_id, event] : history_.life_of(id)) {
    if (!acquires(event) && !gives_back(event)) continue;
    const Owner& owner = owners_.of(event);
    const bool put = gives_back(event);
    ++(put ? told.put : told.acquired)[owner.place];
    if (!newest.empty()) ++passed[newest];
    newest = put ? owner.place : std::string();
    if (put && event.after == 0) return told;
  }
  return {};
}

// Victims that were not noticed, as the program ended before, are among the released ones, and lack the put
// that would have told: they are few. Siblings that live, and have been where this one was after a put
// without having had that put, tell of it as well: until their last put, which nobody has seen yet, they are
// right.
std::optional<Suspect> LeakFinder::put_too_many(ObjectId id, const Profile& own, const Siblings& clean,
                                                const BornAt& born) {
  const Kinds living = kinds_of(living_beside(id, born.living));
  constexpr double kMost = 0.6;
  const auto alike = [](const Kinds& kinds, const Profile& wanted) {
    const auto found = kinds.find(wanted);
    return found == kinds.end() ? 0 : found->second;
  };
  const auto without = [](Profile profile, const std::string& function) {
    if (--profile.put[function] == 0) profile.put.erase(function);
    return profile;
  };
  PlaceCounts passed;
  const Profile dead = at_zero(id, passed);
  std::size_t all = 0;
  std::size_t most = 0;
  std::size_t most_living = 0;
  std::string extra;
  for (const auto& [function, count] : own.put) {
    const std::size_t released = alike(clean.kinds, without(own, function));
    const std::size_t live = times(passed, function) == 0 ? 0 : alike(living, without(dead, function));
    all += released + live;
    if (released + live <= most) continue;
    most = released + live;
    most_living = live;
    extra = function;
  }
  for (const auto& [function, count] : own.acquired) {
    Profile with = own;
    ++with.acquired[function];
    all += alike(clean.kinds, with);
  }
  if (most < kFewest || static_cast<double>(most) < kMost * static_cast<double>(all)) return std::nullopt;
  const std::string basis =
      most_living == 0
          ? fmt::format("without it, its gets and puts are those of {} of {} released objects", most,
                        clean.count_text())
          : fmt::format("{} objects went the same way without it, and {} of them live", most, most_living);
  const bool by_living = most_living * 2 > most;
  // With an earlier put that they lack as well, either may be the one too many. Whoever gives back last is
  // mostly the one that does it for all.
  if (const auto strange = by_living ? std::nullopt : strange_put_before(id, extra, born.released))
    return Suspect{*strange, "extra put", "candidate",
                   fmt::format("hardly any other object was put on this line, and {} puts this one as well",
                               short_name(extra))};
  const NamedFrame put = put_unlike(id, extra, by_living ? born.living : born.released);
  Suspect suspect{put, "extra put", "candidate", basis};
  // Whoever gives back what others leave to it, and did so twice, may have been left one that nobody had
  // taken. So may a place in memory that it was given back from. That others live does not show that puts on
  // two lines of one function were right.
  const auto on_two_lines = [&](const std::string& function) {
    std::set<std::pair<unsigned, Address>> lines;
    for (const auto& [pc, put] : puts_of(id, function))
      lines.emplace(put.second.line, put.second.line == 0 ? pc : 0);
    return lines.size() > 1;
  };
  const bool twice = std::any_of(own.put.begin(), own.put.end(), [&](const auto& put) {
    return put.second > 1 && (put.first == extra || (by_living && on_two_lines(put.first)));
  });
  const bool sure = !twice && !put_from_memory(id, extra);
  return sure ? std::move(suspect).found_by(Suspect::Basis::too_many) : suspect;
}

bool LeakFinder::put_from_memory(ObjectId id, const std::string& function) {
  bool from_memory = false;
  for (const auto& [event, times] : history_.kinds_of(id)) {
    Event put = event;
    put.object = id;
    if (gives_back(put) && owners_.of(put).place == function)
      from_memory |= event_pairs_.held(put) == Held::memory;
  }
  return from_memory;
}

std::map<Address, std::pair<int, NamedFrame>> LeakFinder::puts_of(ObjectId id, const std::string& function) {
  constexpr std::size_t kMost = 200;  // events
  std::map<Address, std::pair<int, NamedFrame>> puts;
  if (history_.object(id).events > kMost) return puts;
  for (const auto& [event_id, event] : history_.life_of(id)) {
    const Owner* owner = gives_back(event) ? &owners_.of(event) : nullptr;
    if (owner == nullptr || owner->place != function) continue;
    auto& [times, frame] = puts[owner->frame.pc];
    ++times;
    frame = owner->frame;
  }
  return puts;
}

std::vector<LeakFinder::LackedPut> LeakFinder::lacked_puts(ObjectId id, const std::string& function,
                                                           const std::vector<ObjectId>& others) {
  constexpr std::size_t kOthers = 16;  // objects
  std::vector<LackedPut> lacked;
  for (const auto& [pc, put] : puts_of(id, function)) lacked.push_back({pc, put.first, put.second});
  for (const ObjectId other : evenly_spread(others, kOthers)) {
    const auto theirs = puts_of(other, function);
    for (LackedPut& put : lacked) {
      int count = 0;  // other code of the same line is the same put
      for (const auto& [pc, their] : theirs) {
        const bool same = put.frame.line != 0 && put.frame.line == their.second.line;
        if (same || pc == put.pc) count += their.first;
      }
      const bool lacks = count < put.times;
      put.lacking += lacks ? 1 : 0;
      if (theirs.empty()) continue;
      ++put.there;
      put.lacking_there += lacks ? 1 : 0;
    }
  }
  return lacked;
}

NamedFrame LeakFinder::put_unlike(ObjectId id, const std::string& function,
                                  const std::vector<ObjectId>& others) {
  const std::vector<LackedPut> lacked = lacked_puts(id, function, others);
  const auto most = std::max_element(
      lacked.begin(), lacked.end(),
      [](const LackedPut& one, const LackedPut& other) { return one.lacking < other.lacking; });
  if (most == lacked.end() || most->lacking == 0)
    return example_of(function, history_.object(id).family, true);
  return most->frame;
}

std::optional<NamedFrame> LeakFinder::strange_put_before(ObjectId id, const std::string& extra,
                                                         const std::vector<ObjectId>& others) {
  constexpr double kMost = 0.7;  // the rest may have the same mistake, which nobody has stumbled over
  std::map<std::string, std::vector<LackedPut>> lacked;  // by function
  for (const auto& [event_id, event] : history_.life_of(id)) {
    if (!gives_back(event)) continue;
    const Owner& owner = owners_.of(event);
    if (owner.place == extra) break;
    const auto [known, added] = lacked.try_emplace(owner.place);
    if (added) known->second = lacked_puts(id, owner.place, others);
    for (const LackedPut& put : known->second) {
      if (put.pc != owner.frame.pc || put.there < kFewest) continue;
      if (static_cast<double>(put.lacking_there) > kMost * static_cast<double>(put.there)) return put.frame;
    }
  }
  return std::nullopt;
}

// The counter may be another object's: where others of the family ended unseen, this one may have, unless its
// block is known to be handed out still.
std::size_t LeakFinder::unseen_ends_like(const Object& object) const {
  if (history_.log().contains(object.first_event) && history_.event(object.first_event).role == Role::alloc)
    return 0;
  const auto found = ended_unseen_.find(object.family);
  return found == ended_unseen_.end() ? 0 : found->second;
}

std::string LeakFinder::why_unknown(const Object& object, const Count& counter) const {
  if (!object.base_known)
    return "the count is unknown: the counter cannot be read and the birth was not seen";
  if (counter)
    return fmt::format(
        "the counter reads {} where the events say {}: it was changed unseen, or the memory is used for "
        "something else",
        *counter, object.ledger);
  if (history_.lost() && !object.moved_unobserved)
    return "events were lost, and its counter was not read: it may have been put unseen";
  if (const std::size_t ends = unseen_ends_like(object); ends != 0 && !object.moved_unobserved)
    return fmt::format(
        "the ends of {} of the family were not seen, and its memory may have been given back like theirs",
        plural(ends, "object"));
  return "the count moved without an event: references were taken or given back unseen";
}

bool LeakFinder::lives_by_another(const Object& object) const {
  const std::string& whole = families_[object.family.index()].family.part_of;
  if (whole.empty()) return false;
  const std::vector<ObjectId> here = history_.all_at(object.address);
  return std::any_of(here.begin(), here.end(), [&](ObjectId id) {
    const Object& other = history_.object(id);
    return other.state == ObjectState::live && families_[other.family.index()].family.name == whole;
  });
}

// In a cycle, an object that has lost a reference to no other member keeps all of it. Else what took one that
// its released siblings never had closed it; the others are only held. Where nothing like it was ever
// released, the oldest one stands for all.
std::unordered_set<ObjectId> LeakFinder::only_held(std::vector<Born>& places, const ReachByObject& reach) {
  struct Member {
    ObjectId id;
    bool has_siblings = false;
    bool has_more = false;
    bool lost = false;
  };
  std::map<std::uint32_t, std::vector<Member>> cycles;
  for (Born& place : places) {
    for (const ObjectId id : place.outstanding) {
      const auto found = reach.find(id);
      if (found == reach.end() || found->second.cycle_number == 0) continue;
      const Siblings& clean = siblings_of(place);
      const Profile own = profile(id);
      const bool more = std::any_of(own.acquired.begin(), own.acquired.end(), [&](const auto& taken) {
        return clean.count_if([&](const Profile& sibling) {
          return times(sibling.acquired, taken.first) >= taken.second;
        }) == 0;
      });
      const bool has_siblings = clean.looked_at != 0;
      cycles[found->second.cycle_number].push_back({id, has_siblings, has_siblings && more});
    }
  }
  std::unordered_set<ObjectId> held;
  for (auto& [number, members] : cycles) {
    bool lost = false;
    for (Member& member : members) {
      if (members.size() > kMostPaired) break;
      member.lost = suspects_.lost_by_holder(member.id);
      lost |= member.lost;
    }
    const bool closed =
        std::any_of(members.begin(), members.end(), [](const Member& m) { return m.has_more; });
    const bool known =
        std::any_of(members.begin(), members.end(), [](const Member& m) { return m.has_siblings; });
    const ObjectId oldest =
        std::min_element(members.begin(), members.end(), [](const Member& a, const Member& b) {
          return a.id < b.id;
        })->id;
    for (const Member& member : members) {
      const bool cause = lost ? member.lost : closed ? member.has_more : known || member.id == oldest;
      if (!cause) held.insert(member.id);
    }
  }
  return held;
}

void LeakFinder::name_cycle(LeakGroup& group, const ReachOfObject& reached, const Siblings& clean) {
  group.cycle = reached.cycle;
  if (group.cycle.empty()) return;
  const ObjectId id = group.objects.front();
  const auto last = std::find_if(group.cycle.rbegin(), group.cycle.rend(), [&](const LostStep& step) {
    return step.object.valid() && step.object != id;
  });
  const auto born = last == group.cycle.rend() ? EventId() : history_.object(last->object).born;
  const Profile own = profile(id);
  // Released siblings that took the same had the same pointers.
  const auto is_usual = [&](const std::string& owner) {
    return clean.count_if([&](const Profile& sibling) {
      return times(sibling.acquired, owner) >= times(own.acquired, owner);
    }) != 0;
  };
  const auto closing = suspects_.of_cycle(id, born, own.acquired, own.put, is_usual);
  if (!closing) return;
  group.why.clear();
  // No code forgets what a smart pointer gives back.
  const bool by_destructors = families_[group.family.index()].family.has_control_blocks();
  if (!suspects_.lost_by_holder(id)) group.suspects.clear();
  if (by_destructors) return Suspects::put_first(*closing, group.suspects);
  Suspects::add(group.suspects, {*closing});
}

const LeakFinder::Siblings& LeakFinder::siblings_of(Born& place) {
  if (!place.siblings) place.siblings = siblings_of(place.clean, *place.place);
  return *place.siblings;
}

std::vector<LeakFinder::Born> LeakFinder::born_places() {
  std::vector<Born> places;
  ended_unseen_.clear();
  for (const auto& [id, object] : history_.objects()) {
    const Birthplace& where = births_.of(object);
    if (where.number >= places.size()) places.resize(where.number + 1);
    Born& place = places[where.number];
    place.place = &where;
    if (object.superseded && object.state == ObjectState::unknown) ++ended_unseen_[object.family];
    if (is_outstanding(object)) {
      if (!lives_by_another(object)) place.outstanding.push_back(id);
    } else if (released_clean(id, object, blamed_)) {
      place.clean.push_back(id);
    }
  }
  return places;
}

void LeakFinder::add_groups(Born& place, const ReachByObject& reach, const std::unordered_set<ObjectId>& held,
                            std::vector<LeakGroup>& groups) {
  constexpr int kNotLookedAt = -1;
  std::map<std::tuple<Profile, bool, int, bool>, std::vector<ObjectId>> alike;
  for (const ObjectId id : place.outstanding) {
    const Object& object = history_.object(id);
    const auto found = reach.find(id);
    const bool looked_at = found != reach.end();
    const bool counted = looked_at && found->second.counted;
    if (counted && found->second.counter == 0) continue;  // it was put unseen, to its end
    const bool unseen = counted ? found->second.counter.has_value() : history_.lost();
    const bool telling = !place.place->frame.file.empty() || counts_unseen(object);
    const bool intact = counted && !unseen && telling && managed_.is_intact(id);
    // Consequences of other leaks stand apart from cycles and from what only lost untracked blocks hold.
    const bool consequence = looked_at && (found->second.held_by_leak || held.contains(id));
    alike[{profile(id),
           unseen || object.moved_unobserved || !object.base_known ||
               (!intact && unseen_ends_like(object) != 0),
           looked_at ? static_cast<int>(found->second.reach) : kNotLookedAt, consequence}]
        .push_back(id);
  }
  const Siblings& clean = siblings_of(place);
  for (auto& [kind, objects] : alike) {
    const auto& [own, unseen, reached, consequence] = kind;
    LeakGroup group;
    group.objects = std::move(objects);
    const Object& first = history_.object(group.objects.front());
    group.family = first.family;
    group.reach_known = reached != kNotLookedAt;
    if (group.reach_known) group.reach = static_cast<Reach>(reached);
    group.born = place.place->frame;
    group.born_by = place.place->by;
    // An interpreter keeps what it likes of what it has made at one place.
    group.held = !counts_unseen(first) && group.reach_known && group.reach == Reach::reachable &&
                 clean.all >= kReleasedForHeld * place.outstanding.size();
    group.consequence = consequence;
    name_suspects(group, own, clean);
    const auto found = reach.find(group.objects.front());
    if (group.reach == Reach::from_leaked && !consequence && found != reach.end())
      name_cycle(group, found->second, clean);
    if (unseen) {
      group.verdict = Verdict::undecidable;
      group.suspects.clear();
      group.why = why_unknown(first, found == reach.end() ? Count() : found->second.counter);
    }
    groups.push_back(std::move(group));
  }
}

std::vector<LeakGroup> LeakFinder::find(const ReachByObject& reach) {
  const auto outstanding =
      static_cast<std::size_t>(std::count_if(history_.objects().begin(), history_.objects().end(),
                                             [](const auto& entry) { return is_outstanding(entry.second); }));
  if (outstanding * kReadForOne > history_.log().kept()) sum_profiles();
  std::vector<Born> places = born_places();
  const std::unordered_set<ObjectId> held = only_held(places, reach);
  std::vector<LeakGroup> groups;
  for (Born& place : places) {
    if (!place.outstanding.empty()) add_groups(place, reach, held, groups);
  }
  for (LeakGroup& group : groups) add_confirmed(group);
  std::stable_sort(groups.begin(), groups.end(), [](const LeakGroup& a, const LeakGroup& b) {
    return std::tuple(a.reach, a.consequence, b.objects.size(), a.objects.front()) <
           std::tuple(b.reach, b.consequence, a.objects.size(), b.objects.front());
  });
  return groups;
}

}  // namespace refhist
