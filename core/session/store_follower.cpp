#include "session/store_follower.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "reachability/owner_words.h"
#include "session/holders_at_event.h"

namespace refhist {

namespace {

constexpr std::size_t kMostStoreStops = 20000;  // of the program, for one word

}  // namespace

void StoreFollower::begin(const ProgramAccess& access, const FollowOrder& order, ObjectId object,
                          EventId event) {
  Following following{order, object, event, state_.history.object(object).address, {}, 0};
  const NewHolder word{order.word, "the word", {}};
  if (const std::string why = following.held.watch(access.port(), state_.process, word); !why.empty())
    fail("{:#x} cannot be watched: {}", order.word, why);
  all_.push_back(std::move(following));
}

void StoreFollower::tell(DebuggerPort& port, const Following& following, FollowedWay way) {
  way.object = following.address;
  way.function = following.order.function;
  try {
    const EventId last = state_.history.object(following.object).last_event;
    add_sum(state_, following.object, way.why_not.empty() ? last : following.begun, way);
  } catch (const Error& error) {  // the object may have been folded meanwhile
    if (way.why_not.empty()) way.why_not = error.what();
  }
  tell_way(port, following.order, way);
}

void StoreFollower::end(DebuggerPort& port, std::vector<Following>::iterator at, FollowedWay way) {
  at->held.clear(port);
  const Following done = std::move(*at);
  all_.erase(at);
  tell(port, done, std::move(way));
}

FollowedWay StoreFollower::store(const ProgramAccess& access, long tid) {
  FollowedWay way;
  if (const auto registers = access.registers(tid)) {
    LiveStack stack = LivePointers(state_).stack(access, tid, *registers, UnwindOptions().limit);
    if (!stack.frames.empty()) stack.frames.front().raw.exact = false;  // it has executed the instruction
    add_stack(state_, stack, way);
  }
  way.end = FollowedWay::End::returned;
  if (way.steps.empty()) way.why_not = "the code that stored the pointer is none of the program's own";
  return way;
}

bool StoreFollower::changed(const ProgramAccess& access, long tid, Address word) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Following& one) { return one.held.watches(word); });
  if (found == all_.end()) return false;
  FollowedWay way;
  try {
    const Object& object = state_.history.object(found->object);
    if (object.state != ObjectState::live) {
      way.end = FollowedWay::End::running;
      fail("the object ended before a pointer to it was stored there");
    }
    if (++found->stops > kMostStoreStops) fail("the word was given {} other values", kMostStoreStops);
    Address value = 0;
    if (!access.read_word(found->order.word, value) || !extent_of(object).contains(value)) return true;
    way = store(access, tid);
  } catch (const Error& error) {
    way.why_not = error.what();
  }
  end(access.port(), found, std::move(way));
  return true;
}

void StoreFollower::stop(DebuggerPort& port, const std::string& why) {
  while (!all_.empty()) {
    FollowedWay way;
    way.why_not = why;
    way.end = FollowedWay::End::running;
    end(port, std::prev(all_.end()), std::move(way));
  }
}

}  // namespace refhist
