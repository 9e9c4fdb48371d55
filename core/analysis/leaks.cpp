#include "analysis/leaks.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace refhist {

namespace {

bool acquires(const Event& event) {
  return !event.failed && !event.unobserved &&
         (event.role == Role::init || event.role == Role::get || event.role == Role::try_get);
}

bool gives_back(const Event& event) { return !event.unobserved && event.role == Role::put; }

int times(const std::map<std::string, int>& counts, const std::string& place) {
  const auto found = counts.find(place);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

LeakFinder::LeakFinder(const History& history, const SiteTable& sites,
                       const std::vector<TrackedFamily>& families, FrameNamer& namer)
    : history_(history), sites_(sites), families_(families), namer_(namer) {
  for (const Finding& finding : history.findings()) blamed_.insert(finding.object);
}

const LeakFinder::Owner& LeakFinder::owner_of(const Event& event) {
  const auto [entry, added] = owners_.try_emplace(std::uint64_t{event.site.value} << 32U | event.stack.value);
  Owner& owner = entry->second;
  if (!added) return owner;
  owner.frame = namer_.owner(event);
  owner.place = owner.frame.function.empty() ? FrameNamer::text(owner.frame) : owner.frame.function;
  return owner;
}

LeakFinder::Profile LeakFinder::profile(ObjectId id) {
  const FamilyId family = history_.object(id).family;
  Profile result;
  for (const EventId number : history_.events_of(id)) {
    const Event& event = history_.event(number);
    if (!acquires(event) && !gives_back(event)) continue;
    const Owner& owner = owner_of(event);
    const bool put = gives_back(event);
    ++(put ? result.put : result.acquired)[owner.place];
    (put ? put_places_ : get_places_).try_emplace({family.value, owner.place}, owner.frame);
  }
  return result;
}

const std::string& LeakFinder::birth_key(const Object& object) {
  const Event born = object.born.valid() ? history_.event(object.born) : Event();
  const auto [entry, added] = birth_keys_.try_emplace({object.family, born.site, born.stack});
  std::string& key = entry->second;
  if (!added) return key;
  if (!object.born.valid()) return key = fmt::format("{}/unseen", object.family.value);
  const std::string maker = born.site.valid() ? sites_.get(born.site).function : std::string();
  return key = fmt::format("{}/{}/{}", object.family.value, maker, FrameNamer::text(owner_of(born).frame));
}

NamedFrame LeakFinder::example_of(const std::string& function, FamilyId family, bool put) {
  const auto& places = put ? put_places_ : get_places_;
  const auto found = places.find({family.value, function});
  return found == places.end() ? NamedFrame{} : found->second;
}

std::vector<EventId> LeakFinder::candidate_references(ObjectId object, const Profile& leaked,
                                                      const std::vector<Profile>& clean,
                                                      const std::string& missing_put) {
  // A place where references are taken can be the one that this put answers only if, in every clean sibling,
  // as many were taken there as were put there; a place that clean siblings never took at is always one.
  const auto may_be = [&](const std::string& place) {
    const bool foreign = std::none_of(clean.begin(), clean.end(), [&](const Profile& sibling) {
      return times(sibling.acquired, place) >= times(leaked.acquired, place);
    });
    if (foreign) return true;
    return !missing_put.empty() && std::all_of(clean.begin(), clean.end(), [&](const Profile& sibling) {
      return times(sibling.acquired, place) == times(sibling.put, missing_put);
    });
  };
  std::vector<EventId> all;
  std::vector<EventId> chosen;
  for (const EventId id : history_.events_of(object)) {
    const Event& event = history_.event(id);
    if (!acquires(event)) continue;
    all.push_back(id);
    if (may_be(owner_of(event).place)) chosen.push_back(id);
  }
  return chosen.empty() || clean.empty() ? all : chosen;
}

void LeakFinder::name_suspects(LeakGroup& group, const Profile& leaked, const std::vector<Profile>& clean) {
  group.clean_siblings = clean.size();
  std::string missing_put;
  if (clean.empty()) {
    group.why = "which put is missing cannot be decided: no object born at the same place was released clean";
  } else {
    std::map<std::string, std::size_t>
        more_often;  // put place -> clean siblings put there more often than these
    for (const Profile& sibling : clean) {
      for (const auto& [place, count] : sibling.put) {
        if (count > times(leaked.put, place)) ++more_often[place];
      }
    }
    for (const auto& [place, siblings] : more_often) {
      if (2 * siblings <= clean.size()) continue;
      if (missing_put.empty() || siblings > more_often[missing_put]) missing_put = place;
    }
    if (!missing_put.empty()) {
      group.suspects.push_back(Suspect{
          example_of(missing_put, group.family, true), "missing put", "candidate",
          fmt::format("{} of {} released objects were put in {}; {} not", more_often[missing_put],
                      clean.size(), missing_put,
                      group.objects.size() == 1 ? std::string("this one was")
                                                : fmt::format("these {} were", group.objects.size()))});
    }
    for (const auto& [place, count] : leaked.acquired) {
      const auto as_often = std::count_if(clean.begin(), clean.end(), [&, n = count](const Profile& sibling) {
        return times(sibling.acquired, place) >= n;
      });
      if (as_often != 0) continue;
      group.suspects.push_back(
          Suspect{example_of(place, group.family, false), "missing put", "candidate",
                  fmt::format("a reference was taken in {} that none of {} released objects "
                              "had; nothing gave it back",
                              place, clean.size())});
    }
    if (group.suspects.empty()) {
      group.why =
          fmt::format("which put is missing cannot be decided: {} released siblings differ among themselves",
                      clean.size());
    }
  }
  group.references = candidate_references(group.objects.front(), leaked, clean, missing_put);
}

std::vector<Suspect> LeakFinder::suspects_of(ObjectId id) {
  const Object& object = history_.object(id);
  const std::string place = birth_key(object);
  std::vector<Profile> clean;
  for (std::size_t i = 0; i < history_.objects().size(); ++i) {
    if (ObjectId(i) != id && released_clean(ObjectId(i)) &&
        birth_key(history_.object(ObjectId(i))) == place) {
      clean.push_back(profile(ObjectId(i)));
    }
  }
  std::vector<Suspect> suspects;
  if (clean.empty()) return suspects;
  for (const auto& [function, count] : profile(id).put) {
    const auto as_often = std::count_if(clean.begin(), clean.end(), [&, n = count](const Profile& sibling) {
      return times(sibling.put, function) >= n;
    });
    if (as_often != 0) continue;
    suspects.push_back(
        Suspect{example_of(function, object.family, true), "extra put", "candidate",
                fmt::format("{} put it {}; none of {} released objects was put there that often", function,
                            count == 1 ? "once" : fmt::format("{} times", count), clean.size())});
  }
  return suspects;
}

bool LeakFinder::released_clean(ObjectId id) const {
  const Object& object = history_.object(id);
  return object.state == ObjectState::dead && object.complete && !object.moved_unobserved &&
         !blamed_.contains(id);
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

// Each lost object has one holder that is known: whoever goes from holder to holder comes to a cycle, or to
// memory that is no tracked object.
std::vector<std::pair<ObjectId, Address>> LeakFinder::cycle_behind(ObjectId id, const ReachByObject& reach) {
  std::vector<std::pair<ObjectId, Address>> way;  // an object, and the word that points at it
  for (auto found = reach.find(id); found != reach.end() && found->second.holder_object.valid();
       found = reach.find(found->second.holder_object)) {
    const auto seen =
        std::find_if(way.begin(), way.end(), [&](const auto& step) { return step.first == found->first; });
    if (seen == way.end()) {
      way.emplace_back(found->first, found->second.holder);
      continue;
    }
    way.erase(way.begin(), seen);
    std::reverse(way.begin(), way.end());
    // Now with each object the word in it that points at the next one.
    for (std::size_t i = 0; i + 1 < way.size(); ++i) way[i].second = way[i + 1].second;
    way.back().second = reach.at(way.front().first).holder;
    return way;
  }
  return {};
}

std::vector<LeakGroup> LeakFinder::find(const ReachByObject& reach) {
  struct Birthplace {
    std::map<std::tuple<Profile, bool, int>, std::vector<ObjectId>> outstanding;
    std::vector<ObjectId> clean;
  };
  std::map<std::string, Birthplace> places;
  for (std::size_t i = 0; i < history_.objects().size(); ++i) {
    const ObjectId id(i);
    const Object& object = history_.object(id);
    Birthplace& place = places[birth_key(object)];
    const bool outstanding = object.state == ObjectState::live && (object.ledger > 0 || !object.base_known);
    if (outstanding && lives_by_another(object)) continue;
    if (outstanding) {
      const auto found = reach.find(id);
      // Consequences of other leaks stand apart from cycles and from what only lost untracked blocks hold.
      const int kind = found == reach.end()
                           ? -1
                           : 2 * static_cast<int>(found->second.reach) + (found->second.held_by_leak ? 1 : 0);
      const bool counted = found != reach.end() && found->second.counted;
      const bool unseen = counted ? found->second.counter.has_value() : history_.lost();
      place.outstanding[{profile(id), unseen || object.moved_unobserved || !object.base_known, kind}]
          .push_back(id);
    } else if (released_clean(id)) {
      place.clean.push_back(id);
    }
  }
  std::vector<LeakGroup> groups;
  for (auto& [key, place] : places) {
    std::vector<Profile> clean;
    if (!place.outstanding.empty()) {
      for (const ObjectId id : place.clean) clean.push_back(profile(id));
    }
    for (auto& [kind, objects] : place.outstanding) {
      LeakGroup group;
      group.objects = std::move(objects);
      const Object& first = history_.object(group.objects.front());
      group.family = first.family;
      group.reach_known = std::get<2>(kind) >= 0;
      if (group.reach_known) group.reach = static_cast<Reach>(std::get<2>(kind) / 2);
      if (first.born.valid()) {
        const Event born = history_.event(first.born);
        group.born = owner_of(born).frame;
        if (born.site.valid()) group.born_by = sites_.get(born.site).function;
      }
      const auto reached = reach.find(group.objects.front());
      group.consequence = reached != reach.end() && reached->second.held_by_leak;
      if (group.reach == Reach::from_leaked) group.cycle = cycle_behind(group.objects.front(), reach);
      name_suspects(group, std::get<0>(kind), clean);
      if (std::get<1>(kind)) {
        group.verdict = Verdict::undecidable;
        group.suspects.clear();
        group.why = why_unknown(first, reached == reach.end() ? Count() : reached->second.counter);
      }
      groups.push_back(std::move(group));
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [](const LeakGroup& a, const LeakGroup& b) {
    return std::tuple(a.reach, b.objects.size(), a.objects.front()) <
           std::tuple(b.reach, a.objects.size(), b.objects.front());
  });
  return groups;
}

}  // namespace refhist
