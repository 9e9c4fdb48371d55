// What is left of objects that died clean and were folded: totals by the place of their birth, and how often
// they were taken and put where.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/birthplaces.h"

namespace refhist {

/// A place where references of a family were taken, or given back.
struct FoldedOwner {
  FamilyId family;
  bool put = false;
  std::string place;  ///< its function, or what is known of it
  NamedFrame frame;
};

/// Objects that were taken and put alike.
struct FoldedKind {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> counts;  ///< FoldedPlaces::owners, and how often there
  std::uint64_t objects = 0;
};

/// Highest numbers of objects and bytes that lived at once.
struct Peak {
  std::uint64_t objects = 0;
  EventId objects_at;
  std::uint64_t bytes = 0;
  EventId bytes_at;
};

struct FoldedPlace {
  Birthplace place;
  std::uint64_t objects = 0;
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  Peak peak;                        ///< of all objects born there, before FoldedPlaces::until
  std::vector<std::uint64_t> live;  ///< of all objects born there, at FoldedPlaces::moments
  std::vector<FoldedKind> kinds;
  std::uint64_t other_kinds = 0;  ///< objects of kinds that are not among `kinds`: there were too many
};

class FoldedPlaces {
 public:
  /// The entry of this place; made when there is none.
  FoldedPlace& of(const Birthplace& place);
  /// Null when nothing born there was folded.
  [[nodiscard]] const FoldedPlace* find(const Birthplace& place) const;
  /// The index of the owner in `owners()`; made when it is not there.
  std::uint32_t owner(const FoldedOwner& owner);
  /// Leaves out the moments for which `keep` does not hold.
  void thin(const std::function<bool(EventId)>& keep);
  [[nodiscard]] const std::vector<FoldedPlace>& places() const { return places_; }
  std::vector<FoldedPlace>& places() { return places_; }
  [[nodiscard]] const std::vector<FoldedOwner>& owners() const { return owners_; }
  [[nodiscard]] std::uint64_t objects() const;
  [[nodiscard]] std::uint64_t events() const;
  [[nodiscard]] bool empty() const { return places_.empty(); }
  [[nodiscard]] std::size_t bytes() const;
  void clear() { *this = FoldedPlaces(); }

  EventId until;                 ///< every folded object had died before this event; invalid: none was folded
  std::vector<EventId> moments;  ///< in order, before `until`
  bool by_limit = false;         ///< some were folded for the limit of memory only

 private:
  std::vector<FoldedPlace> places_;
  std::unordered_map<std::string, std::size_t> by_text_;
  std::vector<FoldedOwner> owners_;
  std::unordered_map<std::string, std::uint32_t> owner_ids_;
};

}  // namespace refhist
