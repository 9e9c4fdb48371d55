// What may be handed on while threads are about to write records.
#include "agent_host/settled_time.h"

#include <doctest/doctest.h>

using refhist::SettledTime;

TEST_CASE("with nothing in progress all up to the look is settled") {
  SettledTime settled;
  settled.begin(1000);
  settled.idle(0);
  settled.idle(1);
  CHECK(settled.horizon() == 1000);
}

TEST_CASE("a record in progress is later than the last look without one") {
  SettledTime settled;
  settled.begin(1000);
  settled.idle(0);
  settled.begin(2000);
  settled.busy(0);
  CHECK(settled.horizon() == 1000);
}

TEST_CASE("a record that stays in progress over several looks holds the others back all that time") {
  SettledTime settled;
  settled.begin(1000);
  settled.idle(0);
  settled.idle(1);
  for (const std::uint64_t now : {2000U, 3000U, 4000U}) {
    settled.begin(now);
    settled.busy(0);  // its time may have been read right after the first look
    settled.idle(1);
    CHECK(settled.horizon() == 1000);
  }
  settled.begin(5000);
  settled.idle(0);
  settled.idle(1);
  CHECK(settled.horizon() == 5000);
}

TEST_CASE("a record in progress is later than those of its thread that were taken") {
  SettledTime settled;
  settled.begin(1000);
  settled.idle(0);
  settled.taken(0, 1500);
  settled.begin(2000);
  settled.busy(0);
  CHECK(settled.horizon() == 1500);
}

TEST_CASE("at the first look a record in progress may be of any time") {
  SettledTime settled;
  for (const std::uint64_t now : {1000U, 2000U}) {
    settled.begin(now);
    settled.busy(0);
    CHECK(settled.horizon() <= 1);
  }
}

TEST_CASE("a new thread has begun nothing before the last look") {
  SettledTime settled;
  settled.begin(1000);
  settled.idle(0);
  settled.begin(2000);
  settled.idle(0);
  settled.busy(1);
  CHECK(settled.horizon() == 1000);

  SUBCASE("and stays as it is while it is busy") {
    settled.begin(3000);
    settled.idle(0);
    settled.busy(1);
    CHECK(settled.horizon() == 1000);
  }
  SUBCASE("its slot's next thread is a new one again") {
    settled.ended(1);
    settled.begin(3000);
    settled.idle(0);
    settled.busy(1);
    CHECK(settled.horizon() == 2000);
  }
}
