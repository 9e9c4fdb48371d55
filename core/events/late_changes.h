// Changes that the history may list before they reached memory: records of threads that ran while others'
// were taken out of the agent's rings.
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
  void forget() { known_.clear(); }

 private:
  struct Known {
    EventId newest;  // the last event of the object that has been read
    int gets = 0;
    int puts = 0;  // negative
    std::vector<std::pair<ThreadIndex, int>> running;
  };
  using Place = std::pair<EventId, ObjectId>;
  struct Hash {
    std::size_t operator()(const Place& place) const {
      return std::hash<ObjectId>()(place.second) * 31 + std::hash<EventId>()(place.first);
    }
  };
  void read(EventId first, ObjectId object, Known& known) const;

  const History& history_;
  std::unordered_map<Place, Known, Hash> known_;
};

}  // namespace refhist
