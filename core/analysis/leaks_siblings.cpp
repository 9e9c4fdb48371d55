// What an object that was not released has, or has not, and those of its birthplace that were.
#include <fmt/core.h>

#include <algorithm>

#include "analysis/leaks.h"
#include "analysis/named_suspect.h"
#include "base/short_name.h"

namespace refhist {

std::vector<EventId> LeakFinder::candidate_references(ObjectId object, const Profile& leaked,
                                                      const Siblings& clean, const std::string& missing_put) {
  // A place where references are taken can be the one that this put answers only if, in every clean sibling,
  // as many were taken there as were put there; a place that clean siblings never took at is always one.
  const auto may_be = [&](const std::string& place) {
    const bool foreign = clean.count_if([&](const Profile& sibling) {
      return times(sibling.acquired, place) >= times(leaked.acquired, place);
    }) == 0;
    if (foreign) return true;
    return !missing_put.empty() && clean.all_of([&](const Profile& sibling) {
      return times(sibling.acquired, place) == times(sibling.put, missing_put);
    });
  };
  std::vector<EventId> all;
  std::vector<EventId> chosen;
  std::unordered_map<std::uint32_t, bool> by_origin;
  history_.read_back(object, [&](const EventLog::Entry& entry) {
    if (!acquires(entry.event)) return;
    all.push_back(entry.id);
    const auto [known, added] = by_origin.try_emplace(entry.origin);
    if (added) known->second = may_be(owners_.of(entry.event).place);
    if (known->second) chosen.push_back(entry.id);
  });
  if (chosen.empty() || clean.looked_at == 0) chosen = std::move(all);
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

std::pair<std::string, std::size_t> LeakFinder::missing_put_of(const Profile& leaked, const Siblings& clean) {
  std::map<std::string, std::size_t> more_often;  // clean siblings put there more often than these
  for (const auto& [sibling, weight] : clean.kinds) {
    for (const auto& [place, count] : sibling.put) {
      if (count > times(leaked.put, place)) more_often[place] += weight;
    }
  }
  std::pair<std::string, std::size_t> found;
  for (const auto& one : more_often) {
    if (2 * one.second > clean.looked_at && one.second > found.second) found = one;
  }
  return found;
}

std::string LeakFinder::compare(LeakGroup& group, const Profile& leaked, const Siblings& clean) {
  const auto [missing_put, siblings] = missing_put_of(leaked, clean);
  if (!missing_put.empty()) {
    Suspect put{example_of(missing_put, group.family, true), "missing put", "candidate",
                fmt::format("{} of {} released objects were put in {}; {} not", siblings, clean.count_text(),
                            short_name(missing_put),
                            group.objects.size() == 1 ? std::string("this one was")
                                                      : fmt::format("these {} were", group.objects.size()))};
    Suspects::add(group.suspects, {std::move(put).found_by(Suspect::Basis::sibling_put)});
  }
  for (const auto& [place, count] : leaked.acquired) {
    const std::size_t as_often = clean.count_if([&, &place = place, n = count](const Profile& sibling) {
      return times(sibling.acquired, place) >= n;
    });
    if (as_often != 0) continue;
    Suspects::add(group.suspects,
                  {Suspect{example_of(place, group.family, false), "missing put", "candidate",
                           fmt::format("a reference was taken in {} that none of {} released objects "
                                       "had; nothing gave it back",
                                       short_name(place), clean.count_text())}});
  }
  if (group.suspects.empty()) {
    group.why = fmt::format("cannot tell which put is missing: {} released siblings differ from one another",
                            clean.count_text());
  }
  return missing_put;
}

std::optional<Suspect> LeakFinder::unusual_put(const LeakGroup& group, const Profile& leaked,
                                               const Siblings& clean) {
  constexpr std::size_t kFewest = 2;
  const auto had_the_same = [&](const Profile& sibling) {
    return std::all_of(leaked.acquired.begin(), leaked.acquired.end(), [&](const auto& taken) {
      return times(sibling.acquired, taken.first) >= taken.second;
    });
  };
  const std::size_t alike = clean.count_if(had_the_same);
  const bool by_alike = alike >= kFewest;
  if (!by_alike && clean.looked_at < kFewest) return std::nullopt;
  std::optional<Suspect> found;
  for (const auto& [place, count] : leaked.put) {
    const std::size_t usual = clean.count_if([&, &place = place](const Profile& sibling) {
      return times(sibling.put, place) != 0 && (!by_alike || had_the_same(sibling));
    });
    if (usual != 0) continue;
    if (found) return std::nullopt;  // they went another way altogether
    const std::string others = by_alike ? fmt::format("{} released objects with the same references", alike)
                                        : clean.count_text() + " released objects";
    found = suspects_.put_in(
        group.objects.front(), place,
        fmt::format("put here, as none of {} was; one of its others was not given back", others));
  }
  return found;
}

// What was found by the reference itself comes before what is usual.
std::vector<Suspect> LeakFinder::ranked(const LeakGroup& group, std::vector<Suspect> ways,
                                        std::vector<Suspect> unpaired, std::optional<Suspect> unusual) {
  using Basis = Suspect::Basis;
  std::vector<Suspect> all;
  const Basis first = unpaired.empty() ? Basis::unmatched : unpaired.front().basis;
  const bool way = first == Basis::way_out || first == Basis::way_shared;
  const bool of_the_same =
      way && !ways.empty() && ways.front().frame.function == unpaired.front().frame.function;
  if (of_the_same || first == Basis::left_behind) Suspects::add(all, {unpaired.front()});
  Suspects::add(all, std::move(ways));
  if (unusual && first == Basis::unmatched) Suspects::add(all, {*unusual});
  if (!unpaired.empty()) Suspects::add(all, {unpaired.front()});
  Suspects::add(all, group.suspects);
  Suspects::add(all, std::move(unpaired));
  if (unusual) Suspects::add(all, {std::move(*unusual)});
  return all;
}

void LeakFinder::name_suspects(LeakGroup& group, const Profile& leaked, const Siblings& clean) {
  group.clean_siblings = clean.all;
  std::string missing_put;
  if (clean.looked_at != 0)
    missing_put = compare(group, leaked, clean);
  else
    group.why = "cannot tell which put is missing: no object born at the same place was released cleanly";
  group.references = candidate_references(group.objects.front(), leaked, clean, missing_put);
  for (const auto& [event, times] : history_.folded_life_of(group.objects.front()))
    group.folded_references += acquires(event) ? times : 0;
  std::vector<Suspect> unpaired =
      group.references.size() == 1 && group.folded_references == 0 && !leaked.acquired.contains(kBefore)
          ? suspects_.of_reference(group.references.front())
          : suspects_.of_surplus(group.objects.front(), leaked.acquired, leaked.put);
  std::vector<Suspect> ways;
  if (!missing_put.empty()) ways = suspects_.ways_out_of(missing_put, group.family);
  group.suspects = ranked(group, std::move(ways), std::move(unpaired), unusual_put(group, leaked, clean));
  suspects_.finish(group.suspects);
  name_first(group.suspects);
  if (!group.suspects.empty()) group.why.clear();
}

}  // namespace refhist
