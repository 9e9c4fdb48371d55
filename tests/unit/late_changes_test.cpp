#include "events/late_changes.h"

#include <doctest/doctest.h>

#include <vector>

namespace refhist {
namespace {

class LateChangesFixture {
 public:
  EventId change(Role role, unsigned thread, ObjectId object, bool unobserved = false) {
    Event event;
    event.role = role;
    event.object = object;
    event.thread = ThreadIndex(thread);
    event.unobserved = unobserved;
    return history.add_event(event);
  }
  std::vector<int> around(EventId first, ObjectId object, unsigned thread = 0) {
    return late.around(first, object, ThreadIndex(thread));
  }

  History history;
  LateChanges late{history};
  ObjectId object = history.add_object(Object{});
  ObjectId other = history.add_object(Object{});
};
using Changes = std::vector<int>;

}  // namespace

TEST_CASE_FIXTURE(LateChangesFixture,
                  "the changes of an object from an event on are summed up, as they come") {
  change(Role::init, 1, object);
  const EventId first = change(Role::get, 1, object);
  change(Role::put, 2, object);
  change(Role::put, 2, other);
  CHECK(around(first, object) == Changes{-1, 1});
  change(Role::put, 1, object);
  change(Role::put, 1, object, true);  // nobody's call
  CHECK(around(first, object) == Changes{-2, 1});
  CHECK(around(first, other) == Changes{-1});
  late.forget();
  CHECK(around(first, object) == Changes{-2, 1});
}

TEST_CASE_FIXTURE(LateChangesFixture,
                  "the last change of each other thread before it counts when it is near") {
  change(Role::put, 4, object);
  for (int i = 0; i < 80; ++i) change(Role::get, 5, other);
  change(Role::get, 1, object);
  change(Role::put, 1, object);
  change(Role::get, 2, object);
  const EventId first = change(Role::put, 3, other);
  CHECK(around(first, object, 2) == Changes{-1});
  CHECK(around(first, object, 1) == Changes{1});
  CHECK(around(first, object, 3) == Changes{-1, 1});
}

TEST_CASE_FIXTURE(LateChangesFixture, "from the next event on there is nothing yet") {
  change(Role::init, 1, object);
  const EventId next(static_cast<std::uint32_t>(history.event_count()));
  CHECK(around(next, object).empty());
  change(Role::get, 1, object);
  CHECK(around(next, object) == Changes{1});
}

namespace {
/// With a count that follows each change.
class CountedFixture : public LateChangesFixture {
 public:
  EventId counted(Role role, unsigned thread) {
    Object& counted = history.object(object);
    counted.ledger += direction(role);
    Event event;
    event.role = role;
    event.object = object;
    event.thread = ThreadIndex(thread);
    event.after = counted.ledger;
    return history.add_event(event);
  }
  Changes since(EventId first, unsigned thread) { return late.since(first, object, ThreadIndex(thread)); }
};
}  // namespace

TEST_CASE_FIXTURE(CountedFixture, "a look may miss what came since the thread's event before it") {
  for (int i = 0; i < 5; ++i) counted(Role::get, 7);
  for (int i = 0; i < 80; ++i) change(Role::get, 5, other);
  const EventId first = change(Role::put, 1, other);
  CHECK(since(first, 1) == Changes{0, 0});
  counted(Role::get, 2);
  counted(Role::get, 2);
  counted(Role::put, 2);
  counted(Role::put, 2);
  counted(Role::put, 2);
  // From 4 now to 5 when it began, and to 7 in between; a put or a get of the other thread in flight.
  CHECK(since(first, 1) == Changes{-3, 0, -1, 1});
  CHECK(since(first, 2) == Changes{-3, 0});
}

TEST_CASE_FIXTURE(CountedFixture, "what is in flight when the look may be made counts as well") {
  counted(Role::get, 2);
  counted(Role::get, 3);
  const EventId first = change(Role::put, 1, other);
  CHECK(since(first, 1) == Changes{0, 0, 2});
}

TEST_CASE_FIXTURE(CountedFixture, "a look of long ago may miss anything") {
  const EventId first = counted(Role::get, 2);
  for (int i = 0; i < 20000; ++i) counted(i % 2 == 0 ? Role::put : Role::get, 2);
  const Changes changes = since(first, 1);
  CHECK(changes.front() < -1000000);
  CHECK(changes.back() > 1000000);
}

TEST_CASE_FIXTURE(CountedFixture, "a thread that has told nothing may have looked at any time") {
  const auto ever = [&](unsigned thread) { return late.ever(object, ThreadIndex(thread)); };
  counted(Role::get, 2);
  counted(Role::get, 2);
  counted(Role::put, 3);
  // From 1 now to 2 when there was one more; a get of one thread and a put of another in flight.
  CHECK(ever(1) == Changes{-1, 0, -1, 1});
  CHECK(ever(3) == Changes{-1, 0, 1});
  counted(Role::get, 4);
  counted(Role::put, 2);
  CHECK(ever(1) == Changes{-1, 0, -2, 2});
  for (int i = 0; i < 20000; ++i) counted(i % 2 == 0 ? Role::put : Role::get, 2);
  CHECK(ever(1).back() > 1000000);  // too long ago
}

}  // namespace refhist
