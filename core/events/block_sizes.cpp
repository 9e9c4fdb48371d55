#include "events/block_sizes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace refhist {

namespace {
// Since it was handed out.
bool held_object(const Block& block, const History& history) {
  const std::vector<ObjectId> inside = history.starting_in(block.begin, block.begin + block.size);
  return std::any_of(inside.begin(), inside.end(), [&](ObjectId id) {
    const EventId last = history.object(id).last_event;
    return !history.log().contains(last) || history.event(last).time_ns >= block.time_ns;
  });
}
}  // namespace

void BlockSizes::freed(const Block& block, const History& history) {
  if (all_hold_ || block.size > kLargest) return;
  Class& known = classes_[class_of(block.size)];
  if (known.holds || known.freed == kMany) return;
  if (held_object(block, history)) return holds_object(block.size);
  ++known.freed;
  changed_ |= known.freed == kMany;
}

void BlockSizes::holds_object(std::uint64_t size) {
  if (size > kLargest) return;
  Class& known = classes_[class_of(size)];
  changed_ |= !known.holds;
  known.holds = true;
}

void BlockSizes::any_may_hold() {
  changed_ |= !all_hold_;
  all_hold_ = true;
}

bool BlockSizes::changed() { return std::exchange(changed_, false); }

}  // namespace refhist
