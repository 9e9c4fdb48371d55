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
  static constexpr std::uint32_t kUnasked = 0xffffffffU;
  static constexpr std::uint32_t kNoOwner = 0xfffffffeU;

  /// What an event with this origin counts for: one of folded_.owners(), or kNoOwner.
  std::uint32_t owner_of(std::uint32_t origin, const Event& event);
  void sum_up();
  FoldedKind kind_of(ObjectId id);
  void know_kinds();
  void add(ObjectId id, const Object& object, FoldedPlace& place);

  const History& history_;
  FoldedPlaces& folded_;
  Owners owners_;
  std::vector<std::uint32_t> by_origin_;
  /// Equal for objects that were taken and put alike: a sum over their events, in whatever order.
  IdMap<ObjectId, std::uint64_t> sums_;
  std::unordered_map<const FoldedPlace*, std::unordered_map<std::uint64_t, std::size_t>> kinds_;  // by sum
};

}  // namespace refhist
