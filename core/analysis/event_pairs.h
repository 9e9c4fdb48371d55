// Which of an object's references was lost, or which put had none to give back: its gets and puts in order,
// each put with the get that it answers. What answers what is learned from objects that were released clean;
// where there is nothing to learn, a function that is still running, or was when the reference was taken,
// gives back its own. A put answers a get that came before it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/call_paths.h"
#include "analysis/reference_pairs.h"
#include "history/history.h"

namespace refhist {

class EventPairs {
 public:
  /// Objects of the family that were released clean, with what each counts for.
  using Sample = std::function<std::vector<std::pair<ObjectId, double>>(const ReferencePairs::Subject&)>;
  EventPairs(const History& history, FrameNamer& namer, Owners& owners, ReferencePairs& pairs, WaysOut& ways,
             Sample sample)
      : history_(history),
        owners_(owners),
        pairs_(pairs),
        paths_(namer, owners, ways),
        sample_(std::move(sample)) {}

  struct Unpaired {
    std::vector<EventId> taken;       ///< that nothing gave back, in order
    std::size_t before_seen = 0;      ///< of those from before the object was first seen
    std::vector<EventId> given_back;  ///< that nobody had taken
  };
  /// Nothing when the object has too many events, or some that are only counted.
  std::optional<Unpaired> unpaired(ObjectId id);
  /// The put that took the last reference of one that was used afterwards, though every put has its get:
  /// whoever used it had a reference. Nothing when the object did not end, and as `unpaired`.
  std::optional<EventId> put_for_another(ObjectId id);
  /// Of one that was put too often: the put of an object that lived at its address before it, and that this
  /// one's fits to better. What that gave back too early was somebody's, who found this object there. As
  /// `unpaired`.
  std::optional<EventId> extra_put_before(ObjectId id);
  /// A reference, and what became of it.
  struct Reference {
    EventId taken;       ///< invalid: from before the object was first seen
    EventId given_back;  ///< invalid: nothing has given it back
  };
  struct References {
    std::vector<Reference> all;       ///< in the order in which they were taken
    std::vector<EventId> given_back;  ///< puts of references that nobody had taken
    std::size_t at_once = 0;       ///< left out: given back by the next event, in the same call of a function
    std::size_t learned_from = 0;  ///< objects of the family
  };
  /// As `unpaired`.
  std::optional<References> references(ObjectId id);
  /// WaysOut::kept_in, of an event that takes or gives back, or a birth.
  const SlotNames::Name& kept_in(const Event& event) { return paths_.kept_in(event); }
  /// CallPath::held
  Held held(const Event& event) { return paths_.of(event).held; }
  /// Released objects gave back on the line of this put, too.
  bool is_usual_put(const Event& put);
  /// Whether, and how far out on its stack, what was taken so is usually given back by a function that called
  /// for it.
  struct Holder {
    std::size_t depth = 0;
    double share = 0;
  };
  std::optional<Holder> usual_holder(const Event& taken);
  /// Who gives back what is taken so: function and share, the largest first. Empty where no such reference
  /// was seen given back.
  ReferencePairs::Partners partners_of(const Event& taken);

 private:
  struct Call {
    std::size_t order = 0;
    EventId id;
    Event event;
    const CallPath* path = nullptr;
    std::uint32_t kind = 0;  ///< number of place, by_library, and whether it is a birth
    bool first = false;      ///< the reference that it was born with: for whoever has it to the end
    bool own = false;  ///< of a put: its call has taken that reference, wherever it has the pointer from
  };
  struct Life {
    std::vector<Call> gets;
    std::vector<Call> puts;
    std::size_t at_once = 0;  ///< References
  };
  /// CallPaths::Relation in the same call, or by which kind of call.
  struct Partner {
    bool same_call = false;
    std::size_t get = 0;
    std::size_t put = 0;
    std::uint32_t kind = 0;
    auto operator<=>(const Partner&) const = default;
  };
  struct Model {
    std::map<std::uint32_t, double> gets;
    std::map<std::uint32_t, double> puts;
    std::set<Address> places;                                ///< of the calls that took what was given back
    std::map<Address, double> put_places;                    ///< of those that gave it back
    std::set<std::pair<std::uint32_t, unsigned>> put_lines;  ///< with the function
    std::map<std::pair<std::uint32_t, Address>, double> at_places;  ///< by kind of what they gave back
    std::map<std::pair<std::uint32_t, Partner>, double> partners;
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> kinds;
    // The same of all births, and of all other gets: what a kind that was never seen goes by.
    std::map<bool, double> roles;
    std::map<std::pair<bool, Partner>, double> role_partners;
    std::map<std::pair<bool, std::uint32_t>, double> role_kinds;
    std::size_t lives = 0;
  };
  std::optional<Life> life_of(ObjectId id);
  /// The put of the first that is left over when both are one life.
  std::optional<EventId> left_over_before(const Life& first, const Life& second, const Model& model);
  std::size_t take_out_at_once(std::vector<std::pair<EventId, Event>>& events);
  static void take_out_told_twice(const Object& object, bool born_here, std::size_t born, Life& life);
  std::uint32_t kind_of(const CallPath& path, Role role);
  std::pair<std::uint32_t, unsigned> line_of(const Event& event, const CallPath& path);
  /// Of each put, its get; none where it is no less than gets.size().
  /// `more`: references that are still to be given back by somebody.
  std::vector<std::size_t> match(const Model& model, const Life& life, std::size_t more = 0);
  static void leave_last_of_equals(const Model& model, const Life& life, std::vector<std::size_t>& answers);
  double cost(const Model& model, const Call& get, const Call& put);
  /// Kept in a member, and given back from the same one.
  static bool in_one_slot(const Call& get, const Call& put);
  static void mark_own(Life& life);
  static double same_holder(const Call& get, const Call& put,
                            const std::optional<CallPaths::Relation>& relation);
  double likely_before(const Call& get, const Call& put);
  static Partner partner(const Call& get, const Call& put);
  static std::vector<Address> calls_to_zero(const Life& life);
  /// `without`: lives that went so to their end, as calls_to_zero() has it, unless that is how most of them
  /// went.
  const Model& model_of(const ReferencePairs::Subject& subject, const std::vector<Address>& without = {});
  const Model& model_for(ObjectId id, const Life& life);
  Model learn(const std::vector<std::pair<Life, double>>& lives, const Model& before);

  const History& history_;
  Owners& owners_;
  ReferencePairs& pairs_;
  CallPaths paths_;
  Sample sample_;
  CallPath before_seen_{{{paths_.number_of({}), 0, false, false}}, false, Held::unknown, {}};
  std::map<std::tuple<std::uint32_t, bool, bool>, std::uint32_t> kinds_;
  std::vector<std::uint32_t> functions_;  // by kind
  std::set<std::uint32_t> births_;        // of the kinds
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> alike_;
  std::map<std::pair<ReferencePairs::Subject, std::vector<Address>>, Model> models_;
};

}  // namespace refhist
