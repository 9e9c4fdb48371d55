// Where the source may have to change: the calls that took a reference which nothing gave back, or gave back
// one that nobody had taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/activation_trail.h"
#include "analysis/event_pairs.h"
#include "analysis/frame_namer.h"
#include "analysis/late_use.h"
#include "analysis/reference_pairs.h"
#include "analysis/release_depth.h"
#include "analysis/sink_calls.h"
#include "analysis/ways_out.h"
#include "history/history.h"

namespace refhist {

struct Suspect {
  NamedFrame frame;        ///< function, file and line of the call that is missing or too many
  std::string what;        ///< "missing put", "extra put", "missing get", "extra get", "late use", "late get"
  std::string confidence;  ///< "candidate"; "named": named_suspect.h; "confirmed": a second run has shown it
  std::string why;         ///< one sentence with the counts
  /// The lines that the call went through which lost the reference; of confirmed ones only.
  std::vector<NamedFrame> way = {};
  /// What it was found by, where others lean on that.
  enum class Basis : std::uint8_t {
    other,
    way_out,      ///< of a function that gives back on others: a line of its own
    way_shared,   ///< the same, by a line that ways with a put have as well
    taken,        ///< the function took it, and usually gives back
    twice,        ///< two references taken where one is given back
    borrowed,     ///< a put of what the code shows to be somebody else's
    handed_over,  ///< a put of what was passed to a function that takes it over
    too_many,     ///< without this put it would be like its siblings
    sibling_put,  ///< a put that its siblings had
    left_behind,  ///< what has it in a member is destroyed there
    unmatched,    ///< a reference that no put is known to be for
  };
  Basis basis = Basis::other;
  [[nodiscard]] Suspect found_by(Basis by) && {
    basis = by;
    return std::move(*this);
  }
  /// "missing put in serve (session.c:18): ..."
  [[nodiscard]] std::string text() const;
};

/// The call of a function in which a reference was lost.
struct LostCall {
  EventId taken;  ///< the reference
  std::string
      function;  ///< that should have given it back, or else that took it: it stands on the event's stack
  std::vector<std::string> outer;  ///< the functions that called for it, innermost first
};

class Suspects {
 public:
  using Counts = ReferencePairs::Counts;
  /// Frames of the function's calls that took, or with `put` gave back.
  using PlacesOf =
      std::function<std::vector<NamedFrame>(const std::string& function, FamilyId family, bool put)>;
  using IsOfType = std::function<bool(ObjectId id, const std::string& type)>;
  Suspects(const History& history, FrameNamer& namer, Owners& owners, ReferencePairs& pairs,
           EventPairs& event_pairs, ReleaseDepth& depth, WaysOut& ways_out, UntakenKeeps& keeps,
           SinkCalls& sinks, PlacesOf places_of, IsOfType is_of_type)
      : history_(history),
        namer_(namer),
        owners_(owners),
        pairs_(pairs),
        event_pairs_(event_pairs),
        depth_(depth),
        ways_out_(ways_out),
        keeps_(keeps),
        sinks_(sinks),
        places_of_(std::move(places_of)),
        is_of_type_(std::move(is_of_type)) {}

  /// Of an object that was taken and given back in these functions, and holds a reference too many: the
  /// likeliest first.
  std::vector<Suspect> of_surplus(ObjectId id, const Counts& taken, const Counts& given_back);
  /// Of one of which this is known to be the reference that nothing gave back.
  std::vector<Suspect> of_reference(EventId id);
  /// A missing put beside the one of the object's that was made in the function.
  std::optional<Suspect> put_in(ObjectId id, const std::string& function, std::string why);
  /// Of an owner: released objects like it had such references too, so that none of them closes a cycle.
  using IsUsual = std::function<bool(const std::string& place)>;
  /// Of one that is in a lost cycle: the reference that closes it, taken after `since` where there is one.
  std::optional<Suspect> of_cycle(ObjectId id, EventId since, const Counts& taken, const Counts& given_back,
                                  const IsUsual& is_usual);
  /// Whether a reference to it was lost that a function on the stack of its get usually gives back: then no
  /// other object has it.
  bool lost_by_holder(ObjectId id);
  /// Of an object that holds a reference too many: where the function that should have given it back had it
  /// in hand.
  std::optional<LostCall> lost_call(ObjectId id);
  /// Of one that was put too often: the likeliest first.
  std::vector<Suspect> of_deficit(ObjectId id, const Counts& taken, const Counts& given_back);

  /// Ways out of a function that should have given back, on which it does not.
  std::vector<Suspect> ways_out_of(const std::string& function, FamilyId family);

  /// LeakFinder::may_keep
  bool may_keep(const NamedFrame& put, FamilyId family) {
    std::vector<NamedFrame> puts;
    if (!put.module.empty()) puts.push_back(put);
    for (NamedFrame& other : puts_in(put.function, family)) {
      if (other.pc != put.pc) puts.push_back(std::move(other));
    }
    return !ways_out_.from_begin(family, puts).empty();
  }

  /// Appends those at places that are not in the list yet.
  static void add(std::vector<Suspect>& suspects, std::vector<Suspect> more);
  static void put_first(Suspect first, std::vector<Suspect>& suspects);
  /// For those who read them: places of the distribution's code stand behind the others, and one without a
  /// line has its offset.
  void finish(std::vector<Suspect>& suspects) const;

 private:
  [[nodiscard]] std::vector<NamedFrame> puts_in(const std::string& function, FamilyId family) {
    return places_of_(function, family, true);
  }
  [[nodiscard]] NamedFrame example_of(const std::string& function, FamilyId family, bool put) {
    const std::vector<NamedFrame> places = places_of_(function, family, put);
    return places.empty() ? NamedFrame() : places.front();
  }
  /// Who called the event's owner.
  [[nodiscard]] std::string caller(const Event& event);
  /// One of the object's events in that function.
  [[nodiscard]] std::optional<Event> event_in(ObjectId id, const std::string& function, bool put);
  /// Where the user's source makes the call: the owner's frame, or the first one further out with a line.
  [[nodiscard]] NamedFrame in_source(const Event& event);
  /// "; conn_close gives back 90% of those taken in open_conn"; empty when no function usually does.
  static std::string usual_end(const std::string& function, const ReferencePairs::Partners& partners);
  /// The function returns a pointer to what it has taken a reference to: its caller has the reference then.
  [[nodiscard]] bool hands_out(const NamedFrame& frame, const Event& taken);
  void add_lost_reference(EventId id, std::vector<Suspect>& suspects);
  /// `id`: none when the event is but one of its kind.
  void add_lost_reference(EventId id, const Event& taken, std::vector<Suspect>& suspects);
  /// Share of a partner from which on it is the usual one.
  static constexpr double kUsual = 0.6;
  struct LostReference {
    EventId id;
    Event taken;
    std::string function;
    ReferencePairs::Partners partners;  ///< of what is taken in the function
    std::vector<NamedFrame> frames;     ///< from the function on outwards
    std::string usual;                  ///< usual_end of them
    [[nodiscard]] double share(const std::string& function) const;
    [[nodiscard]] bool on_stack(const std::string& name) const;
    [[nodiscard]] const NamedFrame* holder() const;
  };
  LostReference lost_reference(EventId id, const Event& taken);
  /// How far out on the stack of its get a function stands that should have given it back.
  std::optional<std::size_t> held_at(const LostReference& lost);
  std::size_t outermost_holder(const LostReference& lost);
  bool keeps_elsewhere(const LostReference& lost);
  std::optional<std::size_t> handed_to(const LostReference& lost);
  enum class Twice { no, by_two_calls, by_two_calls_of_line, by_one_call };
  [[nodiscard]] Twice twice(const LostReference& lost);
  [[nodiscard]] Twice alike(const Event& event, const Event& taken);
  /// Of functions that have it first, and should hand it on to the one at `depth`.
  void add_dropped(const LostReference& lost, std::size_t from, std::size_t to,
                   std::vector<Suspect>& suspects);
  WaysOut::Holding holding(const LostReference& lost, std::size_t depth);
  /// The event's owner is in it; nullptr for the distribution's, and those without debug information.
  const LoadedModule* own_module(const Event& event);
  /// The function that was called is one of a library of the system.
  bool is_library_call(const Event& event);
  void add_overwritten(const WaysOut::Holding& held, std::vector<Suspect>& suspects);
  /// Where the member that has the reference gets another one. `own`: in a function that stands on the stack
  /// of what took it, or else in none of those.
  void add_overwritten_member(const LostReference& lost, bool own, std::vector<Suspect>& suspects);
  /// Where the holder that keeps the reference ends without giving it back.
  std::vector<Suspect> left_behind(const LostReference& lost);
  std::vector<SlotNames::Name> kept_in(const LostReference& lost);
  void add_held(const LostReference& lost, std::size_t depth, std::vector<Suspect>& suspects);
  /// Of one that nobody on the stack usually gives back.
  void add_last_use(const LostReference& lost, std::size_t owner, std::vector<Suspect>& suspects);
  void add_handed_on(const LostReference& lost, std::vector<Suspect>& suspects);
  /// Those `here` and the ways out on which nothing is given back, the likeliest first.
  static void add_with_ways(const std::vector<WaysOut::Place>& ways, std::vector<Suspect> here,
                            std::vector<Suspect>& suspects);
  /// By the functions that took and gave back, where the events do not tell.
  void add_unpaired(ObjectId id, const Counts& taken, const Counts& given_back,
                    std::vector<Suspect>& suspects);
  /// Of one from before the object was first seen.
  void add_returned(EventId first, std::size_t depth, std::vector<Suspect>& suspects);
  void add_first_reference(ObjectId id, std::vector<Suspect>& suspects);
  [[nodiscard]] bool owned_reference(const LateUse& late);
  [[nodiscard]] bool borrowed(const LateUse& late, bool balanced);
  [[nodiscard]] bool inside_another_put(const Event& put, const std::string& caller);
  /// Where a pointer is stored in the slot that the put's was, and nothing taken.
  void add_stores(const Event& put, const SlotNames::Name& slot, std::vector<Suspect>& suspects);
  /// Functions that took a reference to it, or called for that.
  void add_forgotten(const LostReference& lost, std::vector<Suspect>& suspects);
  void add_overwritten_at_once(const LostReference& lost, std::vector<Suspect>& suspects);
  void add_given(ObjectId id, std::vector<Suspect>& suspects);
  std::string container_on(const Event& put);
  std::set<std::string> takers_of(ObjectId id);
  void add_stores_of_all(ObjectId id, std::vector<Suspect>& suspects);
  /// Where what the put gives back is kept, and nothing taken.
  std::vector<Suspect> missing_gets(const Event& put, const ReferencePairs::Partners& partners);
  struct BorrowedPuts {
    std::vector<Suspect> borrowed;
    std::vector<Suspect> again;  ///< of what was given back before, where a get may be missing instead
  };
  /// Of the object's puts, those of what their function has only borrowed.
  BorrowedPuts borrowed_puts(ObjectId id);
  std::string why_borrowed(const UntakenKeeps::Borrowed& borrowed, EventId id, const Event& put);
  void add_extra_put(const Event& put, const std::string& function, std::vector<Suspect>& suspects);

  const History& history_;
  FrameNamer& namer_;
  Owners& owners_;
  ReferencePairs& pairs_;
  EventPairs& event_pairs_;
  ReleaseDepth& depth_;
  WaysOut& ways_out_;
  UntakenKeeps& keeps_;
  SinkCalls& sinks_;
  ActivationTrail trail_{history_, namer_, owners_};
  PlacesOf places_of_;
  IsOfType is_of_type_;
};

}  // namespace refhist
