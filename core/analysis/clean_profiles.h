// Of objects that are about to be folded: where each was taken and put, and how often; those that are alike
// are told together.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/birthplaces.h"
#include "analysis/folded_places.h"
#include "analysis/owners.h"
#include "history/history.h"
#include "history/id_map.h"

namespace refhist {

class CleanProfiles {
 public:
  CleanProfiles(const History& history, FrameNamer& namer, FoldedPlaces& folded)
      : history_(history), folded_(folded), owners_(namer) {}

  /// Adds the objects set Fold::gone to the totals of their birthplaces.
  void add_to(Birthplaces& births);

 private:
  static constexpr std::size_t kMostKinds = 1000;  // of one birthplace

  void sum_up();
  FoldedKind kind_of(ObjectId id);
  void know_kinds();
  void add(ObjectId id, const Object& object, FoldedPlace& place);

  const History& history_;
  FoldedPlaces& folded_;
  Owners owners_;
  OwnerSums owner_sums_{owners_};
  IdMap<ObjectId, std::uint64_t> sums_;
  std::unordered_map<const FoldedPlace*, std::unordered_map<std::uint64_t, std::size_t>> kinds_;  // by sum
};

}  // namespace refhist
