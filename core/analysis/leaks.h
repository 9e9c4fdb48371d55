// What is outstanding, what of it is leaked, and which put is missing, by comparison with siblings: objects
// born at the same place that were released clean.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/birthplaces.h"
#include "analysis/event_pairs.h"
#include "analysis/folded_places.h"
#include "analysis/frame_namer.h"
#include "analysis/managed_objects.h"
#include "analysis/owners.h"
#include "analysis/reference_pairs.h"
#include "analysis/suspects.h"
#include "history/history.h"
#include "history/id_map.h"
#include "reachability/reachability.h"

namespace refhist {

/// Objects that are alike: same family, same birth place, same gets and puts at the same places.
struct LeakGroup {
  Verdict verdict = Verdict::leak;
  FamilyId family;
  std::vector<ObjectId> objects;  ///< in order of birth
  Reach reach = Reach::unreachable;
  bool reach_known = false;
  bool held = false;         ///< reachable, while most of those that were born there have been released
  bool consequence = false;  ///< held by objects that are leaked themselves: gone when those are
  NamedFrame born;           ///< the owner frame of the birth; empty for objects first seen in mid-life
  std::string born_by;       ///< the function that made it: "json_object_new_object"
  std::vector<EventId> references;    ///< of the first object: those that may be the one not given back
  std::size_t folded_references = 0;  ///< of the first object: those that are counted only
  std::vector<Suspect> suspects;
  std::size_t clean_siblings = 0;
  /// The way from the first object to itself through lost memory; empty when there is none, or not known.
  std::vector<LostStep> cycle;
  std::string why;  ///< what could not be decided, or how it is held
};

/// Objects with findings: what was seen of them is no model for others.
std::unordered_set<ObjectId> blamed_objects(const History& history);
/// The whole life of the object was seen, and nothing was wrong with it.
bool released_clean(ObjectId id, const Object& object, const std::unordered_set<ObjectId>& blamed);

using ReachByObject = std::map<ObjectId, ReachOfObject>;

/// What a second run has shown.
struct ConfirmedPlace {
  ObjectId object;
  Suspect suspect;
};

class LeakFinder {
 public:
  /// `confirmed`: told before any other suspect of the object.
  LeakFinder(const History& history, const SiteTable& sites, const std::vector<TrackedFamily>& families,
             FrameNamer& namer, const FoldedPlaces& folded, ManagedObjects& managed,
             const std::vector<ConfirmedPlace>& confirmed);
  LeakFinder(const LeakFinder&) = delete;
  LeakFinder& operator=(const LeakFinder&) = delete;

  /// Outstanding objects in groups, largest first. `reach` may be empty (not scanned).
  std::vector<LeakGroup> find(const ReachByObject& reach);
  /// For an object that was put too often or used after its end: the puts that none of its clean siblings
  /// had.
  std::vector<Suspect> suspects_of(ObjectId id);
  /// Suspects::lost_call.
  std::optional<LostCall> lost_call(ObjectId id) { return suspects_.lost_call(id); }
  /// An event of this object, or of one that was released clean, in another call of the function, which gave
  /// back what it took there; invalid when there is none.
  EventId kept_call(ObjectId id, const LostCall& lost, const std::string& function);
  /// Which of its puts answers which get.
  [[nodiscard]] EventPairs& pairs() { return event_pairs_; }
  [[nodiscard]] Owners& owners() { return owners_; }
  /// Among objects that were released clean, the function mostly gives back the reference of a birth like
  /// this one.
  bool puts_births(EventId birth, const std::string& function);
  /// Some function that this one calls has taken a reference to an object of the family.
  bool gets_from_callee(const std::string& function, FamilyId family);
  /// Of those that were released clean, evenly spread.
  std::vector<ObjectId> some_released(FamilyId family);
  /// The function of the put leaves on some paths without giving back what it has at its begin.
  bool may_keep(const NamedFrame& put, FamilyId family) { return suspects_.may_keep(put, family); }

 private:
  using PlaceCounts = std::map<std::string, int>;  // function of the owner frame -> how often
  struct Profile {
    PlaceCounts acquired;
    PlaceCounts put;
    auto operator<=>(const Profile&) const = default;
  };
  /// Where references were taken that an object had when it was first seen.
  static constexpr const char* kBefore = "code that ran before it was first seen";
  static int times(const PlaceCounts& counts, const std::string& place);
  Profile profile(ObjectId id);
  const Profile& profile_by(std::uint64_t sum, ObjectId id);
  [[nodiscard]] std::vector<std::uint64_t> sums_of(const std::vector<ObjectId>& ids);
  Profile read_profile(ObjectId id);
  [[nodiscard]] bool told_twice(ObjectId id, const Profile& told);
  void take_out_first_gets(ObjectId id, Profile& told);
  /// What tells objects with equal profiles, for all objects at once: where so many are asked for that
  /// reading the events in order is sooner done.
  void sum_profiles();
  Profile profile_of(const FoldedKind& kind);
  /// The profiles that occur, with how many objects have them.
  using Kinds = std::map<Profile, std::size_t>;
  /// Of the objects, or of some that are evenly spread among them.
  Kinds kinds_of(const std::vector<ObjectId>& objects);
  /// Objects that were released clean at one place.
  struct Siblings {
    Kinds kinds;
    std::size_t looked_at = 0;
    std::size_t all = 0;
    /// "412", or "10000 of 1000000" when not all were looked at.
    [[nodiscard]] std::string count_text() const;
    template <class Predicate>
    [[nodiscard]] std::size_t count_if(Predicate&& predicate) const {
      std::size_t count = 0;
      for (const auto& [profile, weight] : kinds) count += predicate(profile) ? weight : 0;
      return count;
    }
    template <class Predicate>
    [[nodiscard]] bool all_of(Predicate&& predicate) const {
      return count_if(predicate) == looked_at;
    }
  };
  struct Born {
    const Birthplace* place = nullptr;
    std::vector<ObjectId> outstanding;
    std::vector<ObjectId> clean;
    std::optional<Siblings> siblings;
  };
  std::vector<Born> born_places();
  const Siblings& siblings_of(Born& place);
  /// Of the members of lost cycles: those that did not close it.
  std::unordered_set<ObjectId> only_held(std::vector<Born>& places, const ReachByObject& reach);
  void add_groups(Born& place, const ReachByObject& reach, const std::unordered_set<ObjectId>& held,
                  std::vector<LeakGroup>& groups);
  void add_confirmed(LeakGroup& group) const;
  EventId kept_call_of(ObjectId id, const LostCall& lost, const std::string& function);
  void name_cycle(LeakGroup& group, const ReachOfObject& reached, const Siblings& clean);
  /// `clean`: those of them that have not been folded.
  Siblings siblings_of(const std::vector<ObjectId>& clean, const Birthplace& place);
  /// Its references are those of an object that lives: Family::part_of.
  [[nodiscard]] bool lives_by_another(const Object& object) const;
  /// How many objects of its family ended unseen, where its own end may be one more.
  [[nodiscard]] std::size_t unseen_ends_like(const Object& object) const;
  [[nodiscard]] bool counts_unseen(const Object& object) const {
    return families_[object.family.index()].family.counts_unseen;
  }
  [[nodiscard]] std::string why_unknown(const Object& object, const Count& counter) const;
  void add_unusual_puts(FamilyId family, const Profile& own, const Siblings& clean,
                        std::vector<Suspect>& suspects);
  /// Puts in functions in which no sibling was ever put, before what uses the object late.
  static void put_strange_first(const std::vector<Suspect>& unusual, const Siblings& clean,
                                std::vector<Suspect>& suspects);
  /// Up to its last put; empty where that was not seen, or where the life is long. `passed`: the puts after
  /// which it was seen again before that.
  Profile at_zero(ObjectId id, PlaceCounts& passed);
  void name_suspects(LeakGroup& group, const Profile& leaked, const Siblings& clean);
  /// The function that most of the clean ones were put in more often, and how many of them; empty when there
  /// is none.
  static std::pair<std::string, std::size_t> missing_put_of(const Profile& leaked, const Siblings& clean);
  /// Adds what tells them apart to the group's suspects; returns the function of missing_put_of().
  std::string compare(LeakGroup& group, const Profile& leaked, const Siblings& clean);
  /// A put that none of the clean ones had: what ends there has another reference left.
  std::optional<Suspect> unusual_put(const LeakGroup& group, const Profile& leaked, const Siblings& clean);
  std::vector<Suspect> ranked(const LeakGroup& group, std::vector<Suspect> ways,
                              std::vector<Suspect> unpaired, std::optional<Suspect> unusual);
  std::vector<EventId> candidate_references(ObjectId object, const Profile& leaked, const Siblings& clean,
                                            const std::string& missing_put);
  /// Of references from before the object was first seen, as a part of its sum.
  std::uint64_t sum_before(ObjectId id);
  /// Of the family's objects that were released clean, born wherever, also those of unseen births.
  std::vector<ReferencePairs::Kind> clean_kinds(FamilyId family);
  /// By its dynamic type.
  [[nodiscard]] bool is_of_type(ObjectId id, const std::string& type);
  /// What was born at one place.
  struct BornAt {
    std::vector<ObjectId> released;  // clean
    std::vector<ObjectId> living;    // their counts are known
  };
  /// The put without which its gets and puts are those of most of the objects that lack one event.
  std::optional<Suspect> put_too_many(ObjectId id, const Profile& own, const Siblings& clean,
                                      const BornAt& born);
  /// Of the puts that the function made of the object, the one that most of the others lack.
  NamedFrame put_unlike(ObjectId id, const std::string& function, const std::vector<ObjectId>& others);
  /// A put of the object by one of the function's calls, and how many of the objects that it was compared
  /// with were put there less often; `there`: of those that the function puts at all.
  struct LackedPut {
    Address pc = 0;
    int times = 0;
    NamedFrame frame;
    std::size_t lacking = 0;
    std::size_t there = 0;
    std::size_t lacking_there = 0;
  };
  std::vector<LackedPut> lacked_puts(ObjectId id, const std::string& function,
                                     const std::vector<ObjectId>& others);
  /// One that most of the others lack which its function puts, of the object's puts before the first one by
  /// `extra`.
  std::optional<NamedFrame> strange_put_before(ObjectId id, const std::string& extra,
                                               const std::vector<ObjectId>& others);
  /// The function has put the object by a pointer that lies in memory.
  bool put_from_memory(ObjectId id, const std::string& function);
  /// How often each of the function's calls put the object, by address.
  std::map<Address, std::pair<int, NamedFrame>> puts_of(ObjectId id, const std::string& function);
  /// Each object is looked at once, however many findings ask.
  std::map<FamilyId, std::map<std::size_t, BornAt>>& born_at();
  /// Some of them, without the object.
  static std::vector<ObjectId> living_beside(ObjectId id, const std::vector<ObjectId>& born);
  /// Of those that were released clean, evenly spread, those that were born at the same place first.
  std::vector<std::pair<ObjectId, double>> released_like(const ReferencePairs::Subject& subject);
  NamedFrame example_of(const std::string& function, FamilyId family, bool put);
  std::vector<NamedFrame> places_of(const std::string& function, FamilyId family, bool put);

  const History& history_;
  const std::vector<TrackedFamily>& families_;
  const FoldedPlaces& folded_;
  const std::vector<ConfirmedPlace>& confirmed_;
  ManagedObjects& managed_;
  using Places = std::map<std::pair<std::uint32_t, std::string>, std::vector<NamedFrame>>;
  static void add_place(Places& places, FamilyId family, const Owner& owner);
  Places put_places_;  // by family and function: the calls that differ
  Places get_places_;
  std::unordered_set<ObjectId> blamed_;  // objects with findings
  Owners owners_;
  OwnerSums owner_sums_{owners_};
  ReferencePairs pairs_;
  EventPairs event_pairs_;
  std::set<std::pair<FamilyId, std::string>> callers_;  // gets_from_callee
  bool callers_known_ = false;
  ReleaseDepth depth_;
  WaysOut ways_out_;
  UntakenKeeps keeps_;
  SinkCalls sinks_;
  Suspects suspects_;
  Birthplaces births_;
  std::map<FamilyId, std::map<std::size_t, BornAt>> born_at_;  // by number of birthplace
  std::map<FamilyId, std::size_t> ended_unseen_;               // objects: another one took their place
  bool summed_ = false;
  IdMap<ObjectId, std::uint64_t> sums_;
  std::unordered_map<std::uint64_t, Profile> by_sum_;
};

}  // namespace refhist
