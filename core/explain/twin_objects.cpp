#include "explain/twin_objects.h"

#include <algorithm>
#include <map>
#include <string>

#include "session/follow_order.h"

namespace refhist {

namespace {

/// Of one family, in the order of their births.
std::vector<ObjectId> members_of(const SessionState& state, const std::string& family) {
  std::vector<ObjectId> members;
  const auto& objects = state.history.objects();
  for (std::uint32_t i = 0; i < objects.size(); ++i) {
    const ObjectId id(i);
    if (objects.contains(id) && state.family_name(state.history.object(id).family) == family)
      members.push_back(id);
  }
  return members;
}

/// Of all events that count; empty when some of them have been folded.
std::string whole_sum(const SessionState& state, ObjectId id) {
  if (state.history.folded_events(id) != nullptr) return {};
  return history_sum(state, id, state.history.object(id).last_event, false);
}

/// Born at the same place, and as many events later with as many references. The order of its events may hang
/// on addresses: GSequence sorts its nodes by theirs.
bool are_alike(const SessionState& first, ObjectId one, const SessionState& again, ObjectId other) {
  const Object& a = first.history.object(one);
  const Object& b = again.history.object(other);
  // What happens to it once it is gone depends on who has its memory by then.
  if (a.died.valid() && b.died.valid())
    return history_sum(first, one, a.died, false) == history_sum(again, other, b.died, false);
  return a.born.valid() && b.born.valid() && a.events == b.events && a.ledger == b.ledger &&
         a.state == b.state &&
         history_sum(first, one, a.born, false) == history_sum(again, other, b.born, false);
}

class TwinSearch {
 public:
  TwinSearch(const SessionState& first, const SessionState& again) : first_(first), again_(again) {}

  ObjectId twin_of(ObjectId object) {
    const std::string family = first_.family_name(first_.history.object(object).family);
    Family& members = families_[family];
    if (members.first.empty()) members = {members_of(first_, family), members_of(again_, family)};
    const auto is_free = [&](ObjectId other) {
      return std::find(taken_.begin(), taken_.end(), other) == taken_.end();
    };
    const auto at = static_cast<std::size_t>(std::find(members.first.begin(), members.first.end(), object) -
                                             members.first.begin());
    const ObjectId same = at < members.again.size() ? members.again[at] : ObjectId();
    if (same.valid() && is_free(same) && are_alike(first_, object, again_, same)) return take(same);
    const std::string sum = whole_sum(first_, object);
    if (sum.empty()) return {};
    const auto other = std::find_if(members.again.begin(), members.again.end(), [&](ObjectId candidate) {
      return is_free(candidate) && whole_sum(again_, candidate) == sum;
    });
    return other == members.again.end() ? ObjectId() : take(*other);
  }

 private:
  struct Family {
    std::vector<ObjectId> first;
    std::vector<ObjectId> again;
  };

  ObjectId take(ObjectId object) { return taken_.emplace_back(object); }

  const SessionState& first_;
  const SessionState& again_;
  std::map<std::string, Family> families_;
  std::vector<ObjectId> taken_;
};

}  // namespace

std::vector<ObjectId> twins_of(const SessionState& first, const std::vector<ObjectId>& objects,
                               const SessionState& again) {
  TwinSearch search(first, again);
  std::vector<ObjectId> twins;
  twins.reserve(objects.size());
  for (const ObjectId object : objects) twins.push_back(search.twin_of(object));
  return twins;
}

}  // namespace refhist
