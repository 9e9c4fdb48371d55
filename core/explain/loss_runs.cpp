#include "explain/loss_runs.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/scratch_folder.h"
#include "explain/follow_orders.h"

namespace refhist {

namespace {

constexpr std::size_t kMostRuns = 6;
constexpr std::size_t kMostEvents = 4;  // of an object, that are tried
constexpr std::size_t kMostBlocks = 4;  // that lead to it

/// Events of the object that took a reference: the one that nothing seems to have given back, then the last
/// ones.
std::vector<EventId> candidates(const SessionState& state, LeakFinder& finder, ObjectId object) {
  std::vector<EventId> events;
  if (!object.valid()) return events;
  const auto reach = state.scan.objects.find(object);
  // The code that drops the last outside pointer to a cycle is correct.
  if (reach != state.scan.objects.end() && reach->second.cycle_number != 0) return events;
  if (const auto call = finder.lost_call(object)) events.push_back(call->taken);
  state.history.read_back(object, [&](const EventLog::Entry& entry) {
    const Role role = entry.event.role;
    const bool takes = role == Role::init || role == Role::get || role == Role::try_get;
    const bool known = std::find(events.begin(), events.end(), entry.id) != events.end();
    if (takes && !entry.event.failed && !known && events.size() < kMostEvents) events.push_back(entry.id);
  });
  return events;
}

/// What is known of one object so far.
struct Search {
  std::vector<EventId> events;        ///< to follow it from, the first one now
  std::vector<AddressRange> through;  ///< FollowOrder::through
  [[nodiscard]] bool over() const { return events.empty(); }
  /// The pointer was still in a block when the program ended: that block was lost.
  bool leads_on(const FollowedWay& way) {
    const bool held =
        way.end == FollowedWay::End::running && !way.holders.empty() && through.size() < kMostBlocks;
    const bool known = std::none_of(way.holders.begin(), way.holders.end(),
                                    [](const NewHolder& holder) { return holder.block.empty(); });
    if (!held || !known) return false;
    for (const NewHolder& holder : way.holders) through.push_back(holder.block);
    return true;
  }
  void next() {
    events.erase(events.begin());
    through.clear();
  }
};

}  // namespace

void follow_losses(SessionState& state, LeakFinder& finder, const std::vector<ObjectId>& objects,
                   const SecondRun& second, const JudgeLoss& judge) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::vector<Search> searches(objects.size());
  for (std::size_t i = 0; i < objects.size(); ++i) searches[i].events = candidates(state, finder, objects[i]);
  for (std::size_t run = 0; run < kMostRuns; ++run) {
    SecondRun limited = second;
    limited.seconds = second.seconds / 2 - std::chrono::duration<double>(Clock::now() - begin).count();
    if (limited.seconds < 1) return;
    const ScratchFolder scratch;
    FollowOrders orders(state, scratch.path());
    std::vector<std::optional<std::size_t>> ways(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (searches[i].over()) continue;
      const EventId event = searches[i].events.front();
      ways[i] = orders.add(event, state.namer.owner(state.history.event(event)).function, Follow::loss,
                           searches[i].through);
    }
    if (orders.words().empty()) return;
    if (!limited.try_run(orders.words())) return;  // the calls may still be followed
    for (std::size_t i = 0; i < objects.size(); ++i) {
      if (!ways[i]) continue;
      const FollowedWay loss = orders.way(*ways[i]);
      const bool same = loss.why_not.empty() && same_course(state, objects[i], loss);
      if (same && judge(i, searches[i].events.front(), loss)) {
        searches[i].events.clear();
      } else if (!lacks_watchpoints(loss) && (!same || !searches[i].leads_on(loss))) {
        searches[i].next();
      }
    }
  }
}

}  // namespace refhist
