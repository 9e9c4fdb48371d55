#include "events/second_owners.h"

#include <doctest/doctest.h>

#include <vector>

namespace refhist {
namespace {

constexpr Address kOwned = 0x5000;

class OwnersFixture {
 public:
  OwnersFixture() {
    families[0].family.managed_offset = 16;
    owners.set_deletes([this](ObjectId id) { return id != observer; });
  }
  ObjectId block(Address address) {
    Object object;
    object.family = FamilyId(0U);
    object.address = address;
    object.complete = true;
    const ObjectId id = history.add_object(object);
    history.object(id).born = event(id, Role::init);
    return id;
  }
  void last_put(ObjectId id) { history.object(id).died = event(id, Role::put); }
  EventId event(ObjectId id, Role role) {
    Event event;
    event.role = role;
    event.object = id;
    return history.add_event(event);
  }
  [[nodiscard]] std::vector<ObjectId> told() const {
    std::vector<ObjectId> objects;
    for (const Finding& finding : history.findings()) {
      CHECK(finding.verdict == Verdict::second_owner);
      objects.push_back(finding.object);
    }
    return objects;
  }

  History history;
  std::vector<TrackedFamily> families = std::vector<TrackedFamily>(1);
  SecondOwners owners{history, families};
  ObjectId observer;
};
using Blocks = std::vector<ObjectId>;

}  // namespace

TEST_CASE_FIXTURE(OwnersFixture, "the block that came second is told, whichever is noted first") {
  const ObjectId first = block(0x1000);
  const ObjectId second = block(0x2000);
  last_put(second);
  owners.note(second, kOwned);
  CHECK(told().empty());
  owners.note(first, kOwned);
  CHECK(told() == Blocks{second});
  owners.note(first, kOwned);
  CHECK(told().size() == 1);
  CHECK(history.event(history.findings().front().event).role == Role::init);
}

TEST_CASE_FIXTURE(OwnersFixture, "one after the other they may own what lies at an address") {
  for (Address address = 0x1000; address != 0x9000; address += 0x100) {
    const ObjectId one = block(address);
    last_put(one);
    owners.note(one, kOwned);
  }
  const ObjectId last = block(0xa000);
  owners.note(last, kOwned);
  CHECK(told().empty());
}

TEST_CASE_FIXTURE(OwnersFixture, "of several that came after it, the first one is the mistake") {
  const ObjectId first = block(0x1000);
  Blocks later;
  for (Address address = 0x2000; address != 0x8000; address += 0x100) {
    later.push_back(block(address));
    last_put(later.back());
    owners.note(later.back(), kOwned);
  }
  owners.note(first, kOwned);
  CHECK(told() == Blocks{later.front()});
}

TEST_CASE_FIXTURE(OwnersFixture, "one that does not delete the object is no owner") {
  block(0x1000);
  observer = block(0x2000);
  owners.note(observer, kOwned);
  owners.note(block(0x3000), kOwned);
  CHECK(told().empty());
}

TEST_CASE_FIXTURE(OwnersFixture, "a block that has the object in itself is one") {
  block(kOwned - 16);
  const ObjectId second = block(0x2000);
  owners.note(second, kOwned);
  CHECK(told() == Blocks{second});
}

}  // namespace refhist
