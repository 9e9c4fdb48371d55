// Changes that the history may list before a look at the counter that did not see them: of records that were
// taken out of the agent's rings while other threads ran, and of threads that went on while the one that
// looked was held up before it had the time of its look.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "history/history.h"

namespace refhist {

/// Many records ask for the same object from the same event on: each of its events is read once for them.
class LateChanges {
 public:
  explicit LateChanges(const History& history) : history_(history) {}

  /// Of the object: those from the event on, as the sum of the puts and the sum of the gets, and the last
  /// change of each thread but `thread` shortly before it.
  [[nodiscard]] std::vector<int> around(EventId first, ObjectId object, ThreadIndex thread);
  /// What a look of the thread's at the object's counter may miss, when it was made at some moment behind the
  /// events before `first`: from the count of now to the ones of that time, and changes of other threads
  /// which may not have reached memory then. Anything at all where that cannot be told any more.
  [[nodiscard]] std::vector<int> since(EventId first, ObjectId object, ThreadIndex thread) const;
  /// The same of a thread that has told nothing before: its look may be as old as the object.
  [[nodiscard]] std::vector<int> ever(ObjectId object, ThreadIndex thread);
  void forget();

 private:
  /// Changes that may have been in flight, at most one get and one put of each thread.
  class Running {
   public:
    /// Read from the last change to the first. `last_only`: not where another one of its thread is known.
    void add(ThreadIndex thread, int change, bool last_only);
    void append_to(std::vector<int>& changes, ThreadIndex except) const;

   private:
    struct Changes {
      int get = 0;
      int put = 0;  // negative
    };
    std::unordered_map<ThreadIndex, Changes> of_thread_;
    Changes all_;
  };
  struct Known {
    EventId newest;  // the last event of the object that has been read
    int gets = 0;
    int puts = 0;  // negative
    Running running;
  };
  using Place = std::pair<EventId, ObjectId>;
  struct Hash {
    std::size_t operator()(const Place& place) const {
      return std::hash<ObjectId>()(place.second) * 31 + std::hash<EventId>()(place.first);
    }
  };
  void read(EventId first, ObjectId object, Known& known) const;
  /// The whole life, as far as it has been read.
  struct Life {
    EventId newest;
    std::size_t events = 0;  // that have been read
    Count fewest;            // of the counts that were seen
    Count most;
    Running running;
  };
  void read_life(ObjectId object, Life& life) const;

  const History& history_;
  std::unordered_map<Place, Known, Hash> known_;
  std::unordered_map<ObjectId, Life> lives_;
};

}  // namespace refhist
