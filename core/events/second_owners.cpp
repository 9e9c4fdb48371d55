#include "events/second_owners.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace refhist {

namespace {
constexpr const char* kTwice = ": it is deleted twice";
}

void SecondOwners::note(ObjectId block, Address owned) {
  if (!deletes_ || owned == 0) return;
  if (const ObjectId other = beside(block, owned); other.valid() && deletes_(block) && deletes_(other))
    tell(block, other, owned, kTwice);
  if (const ObjectId outer = around(block, owned);
      outer.valid() && at_one_time(block, outer) && deletes_(block))
    tell(block, outer, owned, kTwice);
}

ObjectId SecondOwners::beside(ObjectId block, Address owned) {
  constexpr std::size_t kMost = 32;  // blocks: the first ones, and the last
  std::vector<ObjectId>& noted = noted_[owned];
  if (std::find(noted.begin(), noted.end(), block) != noted.end()) return {};
  std::erase_if(noted, [&](ObjectId one) { return !history_.objects().contains(one); });
  ObjectId first;
  for (const ObjectId one : noted) {
    const bool earlier = !first.valid() || history_.object(one).born < history_.object(first).born;
    if (earlier && at_one_time(block, one)) first = one;
  }
  if (noted.size() == kMost) noted.erase(noted.begin() + kMost / 2);
  noted.push_back(block);
  return first;
}

ObjectId SecondOwners::around(ObjectId block, Address owned) const {
  const FamilyId family = history_.object(block).family;
  const auto& offset = families_[family.index()].family.managed_offset;
  return offset ? history_.newest_at(family, owned - *offset) : ObjectId();
}

// A reference is given back before the object is deleted, and the next object there born after that. One
// whose count moved unseen may have ended long before that was noticed.
bool SecondOwners::at_one_time(ObjectId one, ObjectId other) const {
  const Object& a = history_.object(one);
  const Object& b = history_.object(other);
  const auto ends_before = [](const Object& first, const Object& next) {
    return first.died.valid() && first.died < next.born;
  };
  const auto known = [](const Object& object) { return object.complete && !object.moved_unobserved; };
  return one != other && known(a) && known(b) && a.born.valid() && b.born.valid() && !ends_before(a, b) &&
         !ends_before(b, a);
}

void SecondOwners::tell(ObjectId one, ObjectId other, Address owned, const char* then) {
  const auto [first, second] =
      history_.object(one).born < history_.object(other).born ? std::pair(one, other) : std::pair(other, one);
  // Once the object is gone, whatever comes to lie there seems to have the first one for an owner, too.
  if (!told_.insert(first).second) return;
  history_.add_finding({Verdict::second_owner, second, history_.object(second).born,
                        fmt::format("the control block {:#x} owned the object at {:#x} already{}",
                                    history_.object(first).address, owned, then)});
}

Address SecondOwners::owned_at(Address inside) const {
  Address nearest = 0;
  for (const auto& [owned, blocks] : noted_) {
    if (owned <= inside && owned > nearest && !blocks.empty()) nearest = owned;
  }
  return nearest;
}

std::vector<ObjectId> SecondOwners::owners_of(Address owned) const {
  const auto noted = noted_.find(owned);
  std::vector<ObjectId> owners = noted == noted_.end() ? std::vector<ObjectId>() : noted->second;
  std::erase_if(owners, [&](ObjectId one) { return !history_.objects().contains(one); });
  return owners;
}

const Finding* SecondOwners::note_deleted(Address owned) {
  const std::vector<ObjectId> owners = owners_of(owned);
  for (const ObjectId first : owners) {
    for (const ObjectId second : owners) {
      const bool still = history_.object(first).state == ObjectState::live;
      const bool ended = history_.object(second).state == ObjectState::dead;
      if (first < second && still && ended && at_one_time(first, second))
        tell(first, second, owned, ", and has lost it to this one");
    }
  }
  const std::vector<Finding>& findings = history_.findings();
  const auto told = std::find_if(findings.rbegin(), findings.rend(), [&](const Finding& finding) {
    return finding.verdict == Verdict::second_owner &&
           std::find(owners.begin(), owners.end(), finding.object) != owners.end();
  });
  return told == findings.rend() ? nullptr : &*told;
}

void SecondOwners::forget() {
  noted_.clear();
  told_.clear();
}

}  // namespace refhist
