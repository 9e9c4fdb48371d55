// The references that an object had, and what each of its puts may have given back: by other runs of the
// program.
#pragma once

#include <optional>
#include <vector>

#include "analysis/leaks.h"
#include "explain/put_match.h"
#include "explain/put_runs.h"
#include "session/session_state.h"

namespace refhist {

/// The put that was one too many in the run that is explained.
struct FailingPut {
  CallStack stack;  ///< empty where no put was seen
  bool usual = false;
  Held held = Held::memory;
};
FailingPut failing_put(SessionState& state, LeakFinder& finder, EventId put);

class PutReferences {
 public:
  /// Where a put had the pointer: the number of a span; none: in a variable of its function.
  using Source = std::optional<std::size_t>;
  struct Put {
    std::optional<EventId> event;  ///< none: the failing one
    CallStack stack;
    std::size_t at = 0;
    bool usual = false;  ///< objects without a mistake have such ones, too
    Held held = Held::unknown;
    std::optional<Source> loaded;  ///< by the code that loaded the pointer; none: that is not known
    std::vector<Source> sources;   ///< that are possible
  };

  /// `failing`: null for an object without a mistake. Throws Error when what was seen is too little.
  PutReferences(SessionState& state, LeakFinder& finder, const PutCourse& course, const FailingPut* failing);

  [[nodiscard]] const std::vector<TakenReference>& taken() const { return taken_; }
  [[nodiscard]] const std::vector<Put>& puts() const { return puts_; }
  /// What stored the pointer there, from the frame that did it outwards.
  [[nodiscard]] const CallStack& stored(std::size_t span) const { return stores_[span]; }
  /// Another one has taken its pointer over.
  [[nodiscard]] bool moved(std::size_t span) const { return moved_[span]; }
  /// Of the object's moments, that of the put, or the last one before.
  [[nodiscard]] std::size_t moment_of(const Put& put) const;
  [[nodiscard]] NamedFrame named(const FollowedStep& step) const;
  /// Its code loads the pointer from memory, or its frame has the word's address.
  [[nodiscard]] bool is_seen(const Put& put, std::size_t span) const;
  /// The word that the code of both loaded the pointer from, while it lay there all the time.
  [[nodiscard]] std::optional<std::size_t> shared_word(const Put& one, const Put& other) const;
  /// Each possible way, of which the last puts may have several. Throws Error when there are too many.
  [[nodiscard]] std::vector<std::vector<Source>> choices() const;
  [[nodiscard]] std::vector<GivenReference> given_by(const std::vector<Source>& sources) const;

 private:
  CallStack owners(const CallStack& stack, EventId id);
  CallStack store_owners(const CallStack& stack);
  void add_failing(const FailingPut& failing);
  void find_moved();
  [[nodiscard]] bool passed_out(std::size_t span) const;
  [[nodiscard]] bool may_have(const Put& put, std::size_t span) const;
  [[nodiscard]] std::optional<std::size_t> reached(const Put& put) const;
  /// Put::loaded, by what was seen at the put.
  [[nodiscard]] std::optional<Source> loaded(const Put& put, const FollowedWay& way) const;
  [[nodiscard]] std::optional<double> cost_of(const Put& put, std::size_t span) const;
  [[nodiscard]] static double cost_of_variable(const Put& put);
  using Costs = std::vector<std::vector<double>>;
  [[nodiscard]] Costs source_costs() const;
  void prefer_usual_sources(Costs& costs) const;
  void find_sources();

  SessionState& state_;
  LeakFinder& finder_;
  const PutCourse& course_;
  std::vector<bool> moved_;  // of each span
  std::vector<TakenReference> taken_;
  std::vector<Put> puts_;
  std::vector<CallStack> stores_;  // of each span
};

}  // namespace refhist
