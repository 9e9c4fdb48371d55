#include "explain/correct_siblings.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace refhist {

namespace {

using Place = std::tuple<bool, std::string, unsigned>;  // it takes; function; line

constexpr std::size_t kMostSiblingEvents = 24;  // gets and puts
constexpr std::uint64_t kMostRead = 200;        // events of an object

struct Places {
  std::set<Place> all;
  std::size_t events = 0;
};

Places places_of(SessionState& state, LeakFinder& finder, ObjectId id) {
  Places places;
  state.history.read_back(id, [&](const EventLog::Entry& entry) {
    const bool takes = acquires(entry.event);
    if (!takes && !gives_back(entry.event)) return;
    const NamedFrame frame = finder.owners().of(entry.event).frame;
    places.all.emplace(takes, frame.function, frame.line);
    ++places.events;
  });
  return places;
}

/// Takes the shared ones out of `open`, and returns how many these were.
std::size_t take_shared(std::set<Place>& open, const std::set<Place>& other) {
  return std::erase_if(open, [&](const Place& place) { return other.contains(place); });
}

}  // namespace

std::vector<ObjectId> correct_siblings(SessionState& state, LeakFinder& finder, ObjectId object,
                                       std::size_t most) {
  std::vector<std::pair<ObjectId, Places>> candidates;
  for (const ObjectId id : finder.some_released(state.history.object(object).family)) {
    if (state.history.object(id).events > kMostRead) continue;
    Places places = places_of(state, finder, id);
    if (id != object && places.events >= 2 && places.events <= kMostSiblingEvents)
      candidates.emplace_back(id, std::move(places));
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& one, const auto& other) {
    return one.second.events < other.second.events;
  });
  std::set<Place> open = places_of(state, finder, object).all;
  std::vector<ObjectId> chosen;
  while (chosen.size() < most && !open.empty()) {
    std::size_t shared = 0;
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      std::set<Place> left = open;
      const std::size_t count = take_shared(left, candidates[i].second.all);
      if (count <= shared) continue;
      shared = count;
      best = i;
    }
    if (!best) break;
    take_shared(open, candidates[*best].second.all);
    chosen.push_back(candidates[*best].first);
  }
  return chosen;
}

}  // namespace refhist
