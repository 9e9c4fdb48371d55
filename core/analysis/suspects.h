// Where the source may have to change: the calls that took a reference which nothing gave back, or gave back
// one that nobody had taken.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/frame_namer.h"
#include "analysis/reference_pairs.h"
#include "analysis/release_depth.h"
#include "history/history.h"

namespace refhist {

struct Suspect {
  NamedFrame frame;        ///< function, file and line of the call that is missing or too many
  std::string what;        ///< "missing put", "extra put", "missing get", "extra get"
  std::string confidence;  ///< "named" or "candidate"
  std::string why;         ///< one sentence with the counts
  /// "missing put in serve (session.c:18): ..."
  [[nodiscard]] std::string text() const;
};

class Suspects {
 public:
  using Counts = ReferencePairs::Counts;
  /// `example_of`: the frame of a call in the function that takes or, with `put`, gives back.
  using ExampleOf = std::function<NamedFrame(const std::string& function, FamilyId family, bool put)>;
  using IsOfType = std::function<bool(ObjectId id, const std::string& type)>;
  Suspects(const History& history, FrameNamer& namer, Owners& owners, ReferencePairs& pairs,
           ReleaseDepth& depth, ExampleOf example_of, IsOfType is_of_type)
      : history_(history),
        namer_(namer),
        owners_(owners),
        pairs_(pairs),
        depth_(depth),
        example_of_(std::move(example_of)),
        is_of_type_(std::move(is_of_type)) {}

  /// Of an object that was taken and given back in these functions, and holds a reference too many: the
  /// likeliest first.
  std::vector<Suspect> of_surplus(ObjectId id, const Counts& taken, const Counts& given_back);
  /// Of one of which this is known to be the reference that nothing gave back.
  std::vector<Suspect> of_reference(EventId id);
  /// Of one that is in a lost cycle: the reference that closes it, taken after `since` where there is one.
  std::optional<Suspect> of_cycle(ObjectId id, EventId since, const Counts& taken, const Counts& given_back);
  /// Of one that was put too often: the likeliest first.
  std::vector<Suspect> of_deficit(ObjectId id, const Counts& taken, const Counts& given_back);

  /// Appends those at places that are not in the list yet.
  static void add(std::vector<Suspect>& suspects, std::vector<Suspect> more);

 private:
  /// One of the object's events in that function.
  [[nodiscard]] std::optional<Event> event_in(ObjectId id, const std::string& function, bool put);
  /// Where the user's source makes the call: the owner's frame, or the first one further out with a line.
  [[nodiscard]] NamedFrame in_source(const Event& event);
  /// "; conn_close gives back 90% of those taken in open_conn"; empty when no function usually does.
  static std::string usual_end(const std::string& function, const ReferencePairs::Partners& partners);
  /// The function returns a pointer to what it has taken a reference to: its caller has the reference then.
  [[nodiscard]] bool hands_out(const NamedFrame& frame, const Event& taken);
  void add_lost_reference(const Event& taken, const std::string& function, std::vector<Suspect>& suspects);
  /// Of one from before the object was first seen.
  void add_first_reference(ObjectId id, std::vector<Suspect>& suspects);
  void add_extra_put(const Event& put, const std::string& function, std::vector<Suspect>& suspects);

  const History& history_;
  FrameNamer& namer_;
  Owners& owners_;
  ReferencePairs& pairs_;
  ReleaseDepth& depth_;
  ExampleOf example_of_;
  IsOfType is_of_type_;
};

}  // namespace refhist
