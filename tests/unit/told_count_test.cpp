// Counts and records that the program writes for us, as far as they can be true.
#include "agent_host/told_count.h"

#include <doctest/doctest.h>

#include "agent_host/record_check.h"

namespace refhist::test {

namespace {

agent::Record record_of_now() {
  agent::Record record{};
  record.kind = agent::RecordKind::entry;
  record.flags = agent::kHasCount;
  record.time = __rdtsc();
  return record;
}

}  // namespace

TEST_CASE("a count in shared memory grows; what cannot be is put right") {
  Damage damage;
  ToldCount count;
  std::uint64_t place = 0;
  const Untrusted shared(place);
  CHECK(count.look(shared, damage) == 0);
  place = 5;
  CHECK(count.look(shared, damage) == 5);
  CHECK(damage.words() == 0);

  place = 3;  // it never falls
  CHECK(count.look(shared, damage) == 5);
  CHECK(place == 5);
  place = ~std::uint64_t{0};  // nor does it grow faster than the clock
  CHECK(count.look(shared, damage) == 5);
  CHECK(place == 5);
  CHECK(damage.words() == 2);
}

TEST_CASE("a record that the agent cannot have written is told from one that it can") {
  RecordCheck fits;
  CHECK(fits(record_of_now()));
  agent::Record record = record_of_now();
  record.flags = 0xff;
  CHECK_FALSE(fits(record));
  record = record_of_now();
  record.kind = static_cast<agent::RecordKind>(200);
  CHECK_FALSE(fits(record));
  record = record_of_now();
  record.time = 1;  // long before this session
  CHECK_FALSE(fits(record));
  record.time = __rdtsc() + (std::uint64_t{1} << 40U);  // in some minutes
  CHECK_FALSE(fits(record));
  record.kind = agent::RecordKind::nothing;  // one that was given up may be half filled
  CHECK(fits(record));
}

}  // namespace refhist::test
