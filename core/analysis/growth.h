// How many objects lived at which moment, by the place of their birth.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/birthplaces.h"
#include "history/history.h"

namespace refhist {

struct PlaceGrowth {
  const Birthplace* place = nullptr;
  std::vector<std::size_t> live;  ///< at each moment
  std::vector<ObjectId> fresh;    ///< born behind the first moment, and alive at the last one
};

/// `moments` ascend. Places where nothing lived at any of them are left out; those that have grown most come
/// first.
std::vector<PlaceGrowth> growth_between(const History& history, Birthplaces& places,
                                        const std::vector<EventId>& moments);

struct Usage {
  std::size_t born = 0;
  std::size_t live = 0;
  std::size_t peak = 0;
  EventId peak_at;
  std::uint64_t live_bytes = 0;
  std::uint64_t peak_bytes = 0;
  EventId peak_bytes_at;
};

struct PlaceUsage {
  const Birthplace* place = nullptr;
  Usage usage;
  std::vector<std::size_t> over_time;  ///< how many lived, at equal steps from the first event to the last
};

/// By birthplace; those with most bytes, then objects, at their peak first. `steps`: of `over_time`.
std::vector<PlaceUsage> usage_of(const History& history, Birthplaces& places, std::size_t steps);

}  // namespace refhist
