// The program writes anything anywhere into the memory that it shares with the debugger's side, while that
// takes records out of it and hands them to the recorder: nothing of the debugger's may be touched by it,
// nothing may hang, and what is damaged is counted.
//
// REFHIST_SEEDS: how many runs; tests/fuzz/scribbled takes a thousand with sanitizers.
#include <doctest/doctest.h>
#include <fcntl.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

#include "agent_host/event_drain.h"
#include "agent_host/replay.h"
#include "agent_host/rule_table.h"
#include "agent_host/shared_area.h"
#include "agent_tables/stack_nodes.h"
#include "base/error.h"
#include "events/recorder.h"
#include "fake_program.h"
#include "symbols/unwinder.h"

namespace refhist::test {

namespace {

constexpr unsigned kSlots = 4;
constexpr std::uint32_t kNodes = 40;
const AreaSize kTiny{16, 1U << 10U, {16, 1U << 16U, 1U << 10U}};

int memory_file() { return memfd_create("refhist-test", MFD_CLOEXEC | MFD_ALLOW_SEALING); }

/// The debugger's side, as AgentBackend puts it together.
class Host {
 public:
  explicit Host(int file)
      : area_(file, kTiny), nodes_(area_.walk()), drain_(area_, getpid()), rules_(area_, getpid()) {
    TrackedFamily tracked;
    tracked.family.name = "node";
    tracked.counter = MemberPlace{0, 4};
    families_.push_back(tracked);
    for (const Role role : {Role::init, Role::get, Role::put, Role::free}) add_site(role);
    sites_.add(Site{});  // that the agent does not know
  }

  SharedArea& area() { return area_; }
  EventDrain& drain() { return drain_; }
  RuleTable& rules() { return rules_; }
  [[nodiscard]] std::uint64_t told() const {
    return area_.damage().records() + area_.damage().words() + replay_.refused();
  }

  void work_off(std::vector<RecordBatch> batches) {
    for (RecordBatch& batch : batches) batch.thread = recorder_.thread(batch.tid, batch.thread_name);
    RecordOrder(batches).for_each([&](const RecordBatch& batch, const agent::Record& record) {
      for (const Recorded& recorded : replay_.apply(batch, record)) {
        if (recorded.outcome.object.valid()) rules_.correct(history_.object(recorded.outcome.object));
      }
    });
    drain_.give_back(std::move(batches));
  }
  void look() {
    work_off(drain_.take(recorder_.next_event()));
    work_off(drain_.take_interrupting(getpid()));
    work_off(drain_.take_unread(
        [&](const agent::Record& record) { return replay_.expects(SiteId(record.site)); }));
    shown_ += drain_.lost();
    rules_.arrived(getpid());
    rules_.release(getpid());
    shown_ += rules_.undecided() + rules_.unwatched() + (area_.in_use() ? 1 : 0);
  }

 private:
  std::uint64_t shown_ = 0;  // what is only shown
  void add_site(Role role) {
    Site site;
    site.family = FamilyId(0U);
    site.role = role;
    site.object = {ObjectSource::From::argument, 1};
    site.address = 0x1000 * (sites_.all().size() + 1);
    site.size = 64;
    site.armed = true;
    replay_.expect(sites_.add(site));
  }

  SharedArea area_;
  StackNodes nodes_;
  EventDrain drain_;
  RuleTable rules_;
  ModuleMap modules_;
  Unwinder unwinder_{modules_};
  SiteTable sites_;
  History history_;
  std::vector<TrackedFamily> families_;
  Recorder recorder_{history_, sites_, modules_, unwinder_, families_};
  Replay replay_{recorder_,
                 sites_,
                 modules_,
                 [this](std::uint32_t node, std::vector<RawFrame>& frames) {
                   return nodes_.stack(node, 64, frames) != StackEnd::damaged;
                 },
                 families_,
                 [](Address, void*, std::size_t) { return false; }};
};

class Scribbler {
 public:
  Scribbler(FakeProgram& program, std::uint64_t seed) : program_(program), random_(seed) {}

  void begin() {
    for (unsigned i = 0; i < kSlots; ++i) program_.take_slot(i, getpid());
    for (std::uint32_t node = agent::kRoots; node < kNodes; ++node) {
      const bool outermost = node % 8 == 2;
      program_.node(node) = {0x4000 + node, outermost ? 0 : node - 1,
                             outermost ? 1 : program_.node(node - 1).depth + 1};
    }
    program_.walk().node_count = kNodes;
  }
  /// As the agent would, as far as what is damaged lets it.
  void record_some() {
    for (unsigned i = 0; i < 200; ++i) {
      const auto slot = static_cast<unsigned>(random_() % kSlots);
      const agent::ThreadSlot& there = program_.slot(slot);
      if (there.reserved - there.consumed > agent::kRingRecords / 2) continue;
      const std::uint64_t index = program_.reserve(slot);
      agent::Record record{};
      record.time = __rdtsc();
      record.object = 0x10000 + random_() % 64 * 16;
      record.count = random_() % 4;
      record.sp = 0x7000000 + random_() % 16 * 8;
      record.return_pc = 0x4000;
      record.site = static_cast<std::uint32_t>(random_() % 4);
      record.stack = static_cast<std::uint32_t>(random_() % kNodes);
      record.kind = agent::RecordKind::entry;
      record.flags = agent::kHasCount;
      if (random_() % 64 != 0) program_.finish(slot, index, record);
    }
  }
  void flip() {
    auto* words = reinterpret_cast<std::uint64_t*>(program_.base() + place() / 8 * 8);
    const std::uint64_t value = random_() % 3 == 0 ? random_() : *words ^ std::uint64_t{1} << random_() % 64;
    __atomic_store_n(words, value, __ATOMIC_RELAXED);
  }

 private:
  // Where something is read: what lies in between is as good as empty.
  std::uint64_t place() {
    const agent::Shared& places = program_.places();
    const auto slot = static_cast<unsigned>(random_() % kSlots);
    const std::uint64_t ring = std::uint64_t{agent::kRingRecords} * sizeof(agent::Record);
    switch (random_() % 8) {
      case 0:
        return random_() % sizeof(agent::Shared);
      case 1:
        return places.walk + random_() % sizeof(agent::WalkerShared);
      case 2:
        return places.walk + nodes() + random_() % (kNodes * sizeof(agent::StackNode));
      case 3:
        return places.objects + random_() % (std::uint64_t{kTiny.objects} * sizeof(agent::ObjectEntry));
      case 4:
        return places.slots + random_() % (kSlots * sizeof(agent::ThreadSlot));
      case 5:
        return random_() % (places.granules - 8);
      default:
        return places.rings + slot * ring + random_() % (ring / 64);
    }
  }
  std::uint64_t nodes() {
    return static_cast<std::uint64_t>(reinterpret_cast<char*>(&program_.node(0)) -
                                      reinterpret_cast<char*>(&program_.walk()));
  }

  FakeProgram& program_;
  std::mt19937_64 random_;
};

/// Returns what was counted as damage.
std::uint64_t run(std::uint64_t seed, bool beside) {
  const int file = memory_file();
  FakeProgram program(dup(file));
  Host host(file);
  Scribbler scribbler(program, seed);
  scribbler.begin();
  std::atomic<bool> ending = false;
  std::thread thread([&, other = Scribbler(program, ~seed)]() mutable {
    while (beside && !ending) other.flip();
  });
  for (unsigned round = 0; round < 6; ++round) {
    scribbler.record_some();
    for (unsigned i = 0; i < 20; ++i) scribbler.flip();
    host.look();
    host.work_off(host.drain().take_settled());
  }
  ending = true;
  thread.join();
  return host.told();
}

std::uint64_t seeds() {
  const char* asked = std::getenv("REFHIST_SEEDS");
  return asked == nullptr ? 60 : std::strtoull(asked, nullptr, 0);
}

}  // namespace

TEST_CASE("whatever the program writes into the shared memory, the debugger's side lives") {
  std::uint64_t damaged = 0;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) damaged += run(seed, seed % 4 == 0) != 0 ? 1 : 0;
  CHECK(damaged > seeds() * 9 / 10);
}

TEST_CASE("without damage nothing is refused") {
  const int file = memory_file();
  FakeProgram program(dup(file));
  Host host(file);
  Scribbler scribbler(program, 1);
  scribbler.begin();
  for (unsigned round = 0; round < 20; ++round) {
    scribbler.record_some();
    host.look();
  }
  CHECK(host.told() == 0);
}

TEST_CASE("the memory file keeps its size") {
  const int file = memory_file();
  const FakeProgram program(dup(file));
  const SharedArea area(file, kTiny);
  CHECK(ftruncate(program.descriptor(), 4096) != 0);
  CHECK(ftruncate(program.descriptor(), off_t{1} << 40U) != 0);
  CHECK_THROWS_AS(SharedArea(memfd_create("refhist-test", MFD_CLOEXEC), kTiny), Error);
}

}  // namespace refhist::test
