// What the drain takes out of the threads' rings while a record is not whole, and while they run.
#include "agent_host/event_drain.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include <atomic>
#include <thread>

#include "agent_host/shared_area.h"
#include "fake_program.h"

namespace refhist::test {

namespace {

/// The ring of this thread, written as the agent writes it.
class Ring {
 public:
  Ring() : Ring(memfd_create("refhist-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {}

  /// Records are begun in this order.
  std::uint64_t begin() { return program_.reserve(0); }
  /// `time`: in time stamps since the ring was made.
  void finish(std::uint64_t index, std::uint64_t time) { write(0, index, program_.began() + time); }
  /// Another thread has that ring.
  void take_slot(unsigned slot) { program_.take_slot(slot, gettid()); }
  /// A child in this memory has the slot, at the thread pointer of the main thread, and ends.
  void give_slot_to_child(unsigned slot) {
    int child = 0;
    std::thread([&] { child = gettid(); }).join();
    program_.take_slot(slot, child, getpid());
  }
  [[nodiscard]] bool is_taken(unsigned slot) { return program_.slot(slot).taken != 0; }
  void wait_for_looks(std::uint64_t looks) {
    const auto beat = [this] { return __atomic_load_n(&program_.shared().heartbeat, __ATOMIC_RELAXED); };
    for (const std::uint64_t end = beat() + looks; beat() < end;) std::this_thread::yield();
  }
  void record_now(unsigned slot) {
    const std::uint64_t index = program_.reserve(slot);
    write(slot, index, __rdtsc());
  }
  [[nodiscard]] std::uint64_t began() const { return program_.began(); }

  EventDrain& drain() { return drain_; }

 private:
  explicit Ring(int file) : program_(dup(file)), area_(file, SharedArea::kSmall), drain_(area_, getpid()) {
    program_.take_slot(0, getpid());
  }
  void write(unsigned slot, std::uint64_t index, std::uint64_t time) {
    agent::Record record{};
    record.time = time;
    record.object = index;
    record.kind = agent::RecordKind::entry;
    program_.finish(slot, index, record);
  }

  FakeProgram program_;
  SharedArea area_;
  EventDrain drain_;
};

/// The records' objects, in the order of the batches.
std::vector<Address> objects(const std::vector<RecordBatch>& batches) {
  std::vector<Address> found;
  for (const RecordBatch& batch : batches) {
    for (std::size_t i = 0; i < batch.size(); ++i) found.push_back(batch.record(i).object);
  }
  return found;
}

}  // namespace

TEST_CASE("what a signal handler records can be taken before the record that it interrupts") {
  Ring ring;
  const std::uint64_t whole = ring.begin();
  ring.finish(whole, 100);
  const std::uint64_t interrupted = ring.begin();
  const std::uint64_t first = ring.begin();
  const std::uint64_t second = ring.begin();
  ring.finish(first, 200);
  ring.finish(second, 300);

  CHECK(objects(ring.drain().take(EventId(0U))) == std::vector<Address>{whole});
  CHECK(objects(ring.drain().take_interrupting(getpid() + 1)).empty());
  CHECK(objects(ring.drain().take_interrupting(getpid())) == std::vector<Address>{first, second});
  CHECK(objects(ring.drain().take_interrupting(getpid())).empty());
  CHECK(objects(ring.drain().take(EventId(0U))).empty());

  ring.finish(interrupted, 400);
  const std::uint64_t last = ring.begin();
  ring.finish(last, 500);
  CHECK(objects(ring.drain().take(EventId(0U))) == std::vector<Address>{interrupted, last});
}

TEST_CASE("a record that was not whole at a take comes with what was told since") {
  Ring ring;
  const std::uint64_t whole = ring.begin();
  ring.finish(whole, 100);
  const std::uint64_t unfinished = ring.begin();
  CHECK_FALSE(ring.drain().take(EventId(5U)).front().told_before.valid());
  CHECK(ring.drain().take(EventId(9U)).empty());
  ring.finish(unfinished, 200);
  for (unsigned i = 0; i < 4; ++i) ring.finish(ring.begin(), 300 + i);

  const std::vector<RecordBatch> late = ring.drain().take(EventId(12U));
  REQUIRE(late.size() == 1);
  CHECK(late.front().told_before == EventId(5U));
  CHECK(late.front().late_until >= ring.began() + 200);
  CHECK(late.front().late_until < ring.began() + 303);
  CHECK_FALSE(ring.drain().take(EventId(20U)).size() > 0);
}

TEST_CASE("a slot that a child took belongs to the thread whose thread pointer the child had") {
  Ring ring;
  ring.give_slot_to_child(1);
  ring.record_now(1);
  ring.wait_for_looks(3);
  CHECK(ring.is_taken(1));  // the thread, or its next child, may be about to record
  ring.record_now(1);
  const std::vector<RecordBatch> taken = ring.drain().take(EventId(0U));
  REQUIRE(taken.size() == 1);
  CHECK(taken.front().tid == getpid());
  CHECK(objects(taken) == std::vector<Address>{0, 1});
}

TEST_CASE("while threads run, what is taken later is not older") {
  constexpr std::size_t kEnough = 20000;
  Ring ring;
  std::atomic<bool> goes_on = true;
  std::thread program([&] {
    ring.take_slot(1);
    while (goes_on) {
      // An event of one thread, and then one of another: a drain may look at the first ring before, and at
      // the second one behind both.
      ring.record_now(0);
      ring.record_now(1);
      const std::uint64_t begin = __rdtsc();
      while (__rdtsc() - begin < 2000) _mm_pause();
    }
  });
  std::uint64_t newest = 0;
  int inverted = 0;
  std::size_t records = 0;
  while (records < kEnough) {
    std::uint64_t newest_now = newest;
    for (const RecordBatch& batch : ring.drain().take(EventId(0U))) {
      records += batch.size();
      for (std::size_t n = 0; n < batch.size(); ++n) {
        if (batch.time(n) < newest) ++inverted;
        newest_now = std::max(newest_now, batch.time(n));
      }
    }
    newest = newest_now;
  }
  goes_on = false;
  program.join();
  CHECK(inverted == 0);
}

}  // namespace refhist::test
