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
    object.state = ObjectState::live;
    const ObjectId id = history.add_object(object);
    history.object(id).born = event(id, Role::init);
    return id;
  }
  void last_put(ObjectId id) {
    history.object(id).died = event(id, Role::put);
    history.object(id).state = ObjectState::dead;
  }
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

TEST_CASE_FIXTURE(OwnersFixture, "what was deleted had two owners, whatever their deleters do") {
  const ObjectId first = block(0x1000);
  const ObjectId second = block(0x2000);
  last_put(second);
  owners.set_deletes([](ObjectId) { return false; });
  owners.note(first, kOwned);
  owners.note(second, kOwned);
  CHECK(told().empty());
  CHECK(owners.owned_at(kOwned + 24) == kOwned);
  CHECK(owners.owned_at(kOwned - 1) == 0);
  CHECK(owners.owners_of(kOwned) == Blocks{first, second});
  const Finding* finding = owners.note_deleted(kOwned);
  REQUIRE(finding != nullptr);
  CHECK(finding->object == second);
  CHECK(told() == Blocks{second});
}

TEST_CASE_FIXTURE(OwnersFixture, "one that only looks on has not deleted what the first one did") {
  const ObjectId first = block(0x1000);
  observer = block(0x2000);
  last_put(first);
  owners.note(first, kOwned);
  owners.note(observer, kOwned);
  CHECK(owners.note_deleted(kOwned) == nullptr);
  CHECK(told().empty());
}

TEST_CASE_FIXTURE(OwnersFixture,
                  "what one owner has deleted after the other had let go has no second owner") {
  const ObjectId first = block(0x1000);
  last_put(first);
  const ObjectId next = block(0x2000);
  owners.note(first, kOwned);
  owners.note(next, kOwned);
  CHECK(owners.note_deleted(kOwned) == nullptr);
  CHECK(told().empty());
}

}  // namespace refhist
