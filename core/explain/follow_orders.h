// What a second run is to follow, and what it has seen.
#pragma once

#include <string>
#include <vector>

#include "session/follow_order.h"
#include "session/followed_way.h"
#include "session/session_state.h"

namespace refhist {

class FollowOrders {
 public:
  /// `folder`: what is followed is written there.
  FollowOrders(const SessionState& state, std::string folder) : state_(state), folder_(std::move(folder)) {}
  /// From the event on; `through`: FollowOrder::through. Returns the number of the way.
  std::size_t add(EventId event, const std::string& function, Follow follow,
                  const std::vector<AddressRange>& through = {});
  /// Follow::store, of the word.
  std::size_t add_store(EventId event, const std::string& function, Address word);
  /// Of `refhist follow`, for each.
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  /// After the run.
  [[nodiscard]] FollowedWay way(std::size_t number) const;

 private:
  [[nodiscard]] std::string file(std::size_t number) const;

  const SessionState& state_;
  std::string folder_;
  std::vector<std::string> words_;
};

/// Others had the processor's watchpoints: the next run has them free.
bool lacks_watchpoints(const FollowedWay& way);

/// The events of the way are the object's own in the first run, too.
bool same_course(const SessionState& state, ObjectId object, const FollowedWay& way);

}  // namespace refhist
