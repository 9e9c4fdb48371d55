#include "explain/follow_orders.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"

namespace refhist {

namespace {

std::string follow_words(const SessionState& state, EventId event, const std::string& function,
                         const std::string& file, Follow follow) {
  const ObjectId id = state.history.event(event).object;
  const Object& object = state.history.object(id);
  const std::string_view option = follow_option(follow);
  return fmt::format("--object {:#x} --generation {} --family {} --number {} --in {} --sum {} --save {}{}{}",
                     object.address, object.generation, quoted_word(state.family_name(object.family)),
                     number_in_history(state, event), quoted_word(function), history_sum(state, id, event),
                     quoted_word(file), option.empty() ? "" : " ", option);
}

FollowedWay read_way(const std::string& path) {
  try {
    return FollowedWay::of_json(InputFile(path).text());
  } catch (const Error&) {
    FollowedWay way;
    way.why_not = "the second run did not reach this event: the program is not deterministic";
    return way;
  }
}

}  // namespace

std::size_t FollowOrders::add(EventId event, const std::string& function, Follow follow,
                              const std::vector<AddressRange>& through) {
  words_.push_back(follow_words(state_, event, function, file(words_.size()), follow));
  for (const AddressRange& block : through)
    words_.back() += fmt::format(" --through {:#x}-{:#x}", block.begin, block.end);
  return words_.size() - 1;
}

std::size_t FollowOrders::add_store(EventId event, const std::string& function, Address word) {
  const std::size_t number = add(event, function, Follow::store);
  words_.back() += fmt::format(" {:#x}", word);
  return number;
}

FollowedWay FollowOrders::way(std::size_t number) const { return read_way(file(number)); }

std::string FollowOrders::file(std::size_t number) const {
  return fmt::format("{}/{}.json", folder_, number);
}

bool lacks_watchpoints(const FollowedWay& way) {
  return way.why_not.find("cannot be watched: the processor") != std::string::npos;
}

bool same_course(const SessionState& state, ObjectId object, const FollowedWay& way) {
  if (way.events == 0) return false;
  const EventId last = event_in_history(state, object, way.events);
  return last.valid() && history_sum(state, object, last) == way.sum;
}

}  // namespace refhist
