#include "analysis/growth.h"

#include <algorithm>
#include <map>

#include "analysis/lifetime.h"

namespace refhist {

namespace {

/// A birth (+) or an end (-) at an event.
struct Step {
  EventId at;
  bool birth = false;
  std::uint64_t bytes = 0;
};

bool earlier(const Step& a, const Step& b) { return a.at < b.at || (a.at == b.at && a.birth && !b.birth); }

std::int64_t grown(const PlaceGrowth& growth) {
  return static_cast<std::int64_t>(growth.live.back() - growth.live.front());
}

bool is_folded(const FoldedPlaces& folded, EventId moment) {
  return folded.until.valid() && moment < folded.until;
}

/// How many lived at a moment before `folded.until`.
std::uint64_t folded_live(const FoldedPlaces& folded, const FoldedPlace* place, EventId moment) {
  if (place == nullptr) return 0;
  const auto behind = std::upper_bound(folded.moments.begin(), folded.moments.end(), moment);
  return behind == folded.moments.begin()
             ? 0
             : place->live[static_cast<std::size_t>(behind - folded.moments.begin()) - 1];
}

void raise(Peak& peak, const Usage& usage, EventId at) {
  if (usage.live > peak.objects) {
    peak.objects = usage.live;
    peak.objects_at = at;
  }
  if (usage.live_bytes > peak.bytes) {
    peak.bytes = usage.live_bytes;
    peak.bytes_at = at;
  }
}

/// `past`: of the place, where objects of it were folded. Before that what the steps tell is not all.
Usage follow(const std::vector<Step>& steps, const std::vector<EventId>& moments, const FoldedPlaces& folded,
             const FoldedPlace* past, std::vector<std::uint64_t>& over_time) {
  Usage usage;
  if (past != nullptr) {
    usage.born = past->objects;
    usage.peak = past->peak;
  }
  std::size_t moment = 0;
  for (const Step& step : steps) {
    for (; moment < moments.size() && moments[moment] <= step.at; ++moment) over_time.push_back(usage.live);
    if (!step.birth) {
      --usage.live;
      usage.live_bytes -= step.bytes;
      continue;
    }
    ++usage.born;
    ++usage.live;
    usage.live_bytes += step.bytes;
    if (!is_folded(folded, step.at)) raise(usage.peak, usage, step.at);
  }
  over_time.resize(moments.size(), usage.live);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (is_folded(folded, moments[i])) over_time[i] = folded_live(folded, past, moments[i]);
  }
  return usage;
}

/// The places of all objects, the folded ones among them, with what their objects tell.
template <class Entry, class Tell>
std::map<const Birthplace*, Entry> by_place(const History& history, Birthplaces& places,
                                            const FoldedPlaces& folded, Tell&& tell) {
  std::map<const Birthplace*, Entry> all;
  for (const FoldedPlace& place : folded.places()) all[&places.same(place.place)];
  for (const auto& [id, object] : history.objects()) {
    if (object.events != 0) tell(all[&places.of(object)], id, object);
  }
  return all;
}

}  // namespace

std::vector<PlaceGrowth> growth_between(const History& history, Birthplaces& places,
                                        const FoldedPlaces& folded, const std::vector<EventId>& moments) {
  const auto tell = [&](PlaceGrowth& growth, ObjectId id, const Object& object) {
    const Lifetime life = lifetime_of(object);
    growth.live.resize(moments.size());
    for (std::size_t m = 0; m < moments.size(); ++m) growth.live[m] += life.covers(moments[m]) ? 1 : 0;
    if (life.first >= moments.front() && life.covers(moments.back())) growth.fresh.push_back(id);
  };
  std::vector<PlaceGrowth> all;
  for (auto& [place, growth] : by_place<PlaceGrowth>(history, places, folded, tell)) {
    growth.place = place;
    growth.live.resize(moments.size());
    const FoldedPlace* past = folded.find(*place);
    for (std::size_t m = 0; m < moments.size(); ++m) {
      if (is_folded(folded, moments[m])) growth.live[m] = folded_live(folded, past, moments[m]);
    }
    const bool lived =
        std::any_of(growth.live.begin(), growth.live.end(), [](auto live) { return live != 0; });
    if (lived) all.push_back(std::move(growth));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const PlaceGrowth& a, const PlaceGrowth& b) { return grown(a) > grown(b); });
  return all;
}

std::vector<PlaceUsage> usage_at(const History& history, Birthplaces& places, const FoldedPlaces& folded,
                                 const std::vector<EventId>& moments) {
  const auto tell = [](std::vector<Step>& changes, ObjectId, const Object& object) {
    const Lifetime life = lifetime_of(object);
    changes.push_back({life.first, true, object.size});
    if (life.end.valid()) changes.push_back({life.end, false, object.size});
  };
  std::vector<PlaceUsage> all;
  for (auto& [place, changes] : by_place<std::vector<Step>>(history, places, folded, tell)) {
    std::sort(changes.begin(), changes.end(), earlier);
    PlaceUsage entry{place, {}, {}};
    entry.usage = follow(changes, moments, folded, folded.find(*place), entry.over_time);
    all.push_back(std::move(entry));
  }
  std::stable_sort(all.begin(), all.end(), [](const PlaceUsage& a, const PlaceUsage& b) {
    return std::tuple(a.usage.peak.bytes, a.usage.peak.objects) >
           std::tuple(b.usage.peak.bytes, b.usage.peak.objects);
  });
  return all;
}

std::vector<PlaceUsage> usage_of(const History& history, Birthplaces& places, const FoldedPlaces& folded,
                                 std::size_t steps) {
  std::vector<EventId> moments;
  for (std::size_t i = 1; i <= steps; ++i) moments.emplace_back(history.event_count() * i / steps);
  return usage_at(history, places, folded, moments);
}

}  // namespace refhist
