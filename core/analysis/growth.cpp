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

std::ptrdiff_t grown(const PlaceGrowth& growth) {
  return static_cast<std::ptrdiff_t>(growth.live.back()) - static_cast<std::ptrdiff_t>(growth.live.front());
}

Usage follow(const std::vector<Step>& steps, const std::vector<EventId>& moments,
             std::vector<std::size_t>& over_time) {
  Usage usage;
  std::size_t moment = 0;
  for (const Step& step : steps) {
    for (; moment < moments.size() && moments[moment] <= step.at; ++moment) over_time.push_back(usage.live);
    if (!step.birth) {
      --usage.live;
      usage.live_bytes -= step.bytes;
      continue;
    }
    ++usage.born;
    usage.live_bytes += step.bytes;
    if (++usage.live > usage.peak) {
      usage.peak = usage.live;
      usage.peak_at = step.at;
    }
    if (usage.live_bytes > usage.peak_bytes) {
      usage.peak_bytes = usage.live_bytes;
      usage.peak_bytes_at = step.at;
    }
  }
  over_time.resize(moments.size(), usage.live);
  return usage;
}

}  // namespace

std::vector<PlaceGrowth> growth_between(const History& history, Birthplaces& places,
                                        const std::vector<EventId>& moments) {
  std::map<const Birthplace*, PlaceGrowth> by_place;
  for (std::size_t i = 0; i < history.objects().size(); ++i) {
    const Object& object = history.objects()[i];
    if (object.events == 0) continue;
    const Lifetime life = lifetime_of(object);
    const bool lived =
        std::any_of(moments.begin(), moments.end(), [&](EventId at) { return life.covers(at); });
    if (!lived) continue;
    const Birthplace& place = places.of(object);
    PlaceGrowth& growth = by_place[&place];
    growth.place = &place;
    growth.live.resize(moments.size());
    for (std::size_t m = 0; m < moments.size(); ++m) growth.live[m] += life.covers(moments[m]) ? 1 : 0;
    if (life.first >= moments.front() && life.covers(moments.back())) growth.fresh.emplace_back(i);
  }
  std::vector<PlaceGrowth> all;
  for (auto& [place, growth] : by_place) all.push_back(std::move(growth));
  std::stable_sort(all.begin(), all.end(),
                   [](const PlaceGrowth& a, const PlaceGrowth& b) { return grown(a) > grown(b); });
  return all;
}

std::vector<PlaceUsage> usage_of(const History& history, Birthplaces& places, std::size_t steps) {
  std::map<const Birthplace*, std::vector<Step>> by_place;
  for (const Object& object : history.objects()) {
    if (object.events == 0) continue;
    const Lifetime life = lifetime_of(object);
    std::vector<Step>& changes = by_place[&places.of(object)];
    changes.push_back({life.first, true, object.size});
    if (life.end.valid()) changes.push_back({life.end, false, object.size});
  }
  std::vector<EventId> moments;
  for (std::size_t i = 1; i <= steps; ++i) moments.emplace_back(history.event_count() * i / steps);
  std::vector<PlaceUsage> all;
  for (auto& [place, changes] : by_place) {
    std::sort(changes.begin(), changes.end(), earlier);
    PlaceUsage entry{place, {}, {}};
    entry.usage = follow(changes, moments, entry.over_time);
    all.push_back(std::move(entry));
  }
  std::stable_sort(all.begin(), all.end(), [](const PlaceUsage& a, const PlaceUsage& b) {
    return std::tuple(a.usage.peak_bytes, a.usage.peak) > std::tuple(b.usage.peak_bytes, b.usage.peak);
  });
  return all;
}

}  // namespace refhist
