// How many objects lived at which moment, by the place of their birth.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/birthplaces.h"
#include "analysis/folded_places.h"
#include "history/history.h"

namespace refhist {

struct PlaceGrowth {
  const Birthplace* place = nullptr;
  std::vector<std::uint64_t> live;  ///< at each moment
  std::vector<ObjectId> fresh;      ///< born behind the first moment, and alive at the last one
};

/// `moments` ascend. Places where nothing lived at any of them are left out; those that have grown most come
/// first. Moments before `folded.until` must be among its moments, else the latest one before counts.
std::vector<PlaceGrowth> growth_between(const History& history, Birthplaces& places,
                                        const FoldedPlaces& folded, const std::vector<EventId>& moments);

struct Usage {
  std::uint64_t born = 0;
  std::uint64_t live = 0;
  std::uint64_t live_bytes = 0;
  Peak peak;
};

struct PlaceUsage {
  const Birthplace* place = nullptr;
  Usage usage;
  std::vector<std::uint64_t> over_time;  ///< how many lived, at the moments
};

/// By birthplace; those with most bytes, then objects, at their peak first. As for `moments` above.
std::vector<PlaceUsage> usage_at(const History& history, Birthplaces& places, const FoldedPlaces& folded,
                                 const std::vector<EventId>& moments);
/// At `steps` equal steps from the first event to the last.
std::vector<PlaceUsage> usage_of(const History& history, Birthplaces& places, const FoldedPlaces& folded,
                                 std::size_t steps);

}  // namespace refhist
