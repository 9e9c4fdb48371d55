// The agent's stop rules against the ledger: whatever the ledger would call a mistake or a last put, the
// agent asks about. Random calls of several threads on a few objects, one after the other.
#include "agent/rule_watch.h"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <random>
#include <string>

#include "agent_host/rule_table.h"
#include "agent_host/shared_area.h"
#include "fake_program.h"
#include "history/ledger.h"

namespace refhist::test {

namespace {

constexpr std::uint32_t kFamily = 0;

agent::Site site(agent::Effect effect) {
  agent::Site site{};
  site.function = 0x1000;
  site.function_size = 0x10;
  site.counter_size = sizeof(int);
  site.counter_scale = 1;
  site.born = 1;
  site.family = kFamily;
  site.counts_at_entry = 1;
  site.effect = effect;
  site.at_return = effect == agent::Effect::birth ? 1 : 0;
  site.watch = agent::kWatchZero | agent::kWatchBalance;
  return site;
}

/// Objects of one family in this process, as a ledger and as the agent see them.
class TwoLedgers {
 public:
  static constexpr unsigned kThreads = 3;
  static constexpr unsigned kObjects = 4;

  TwoLedgers() : TwoLedgers(memfd_create("refhist-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {}

  /// What the ledger alone would have stopped for; empty when there is nothing of the kind.
  std::string one_call(std::mt19937& random) {
    const unsigned object = random() % kObjects;
    const unsigned thread = random() % kThreads;
    // Half of the calls are gets and puts, so that objects live for some time.
    switch (random() % 8) {
      case 0:
        return call(Role::init, birth_, object, thread);
      case 1:
        return call(Role::free, free_, object, thread);
      case 2:
        counters_[object] += static_cast<int>(random() % 3) - 1;  // nobody sees it
        return {};
      case 3:
      case 4:
        return call(Role::get, get_, object, thread);
      default:
        return call(Role::put, put_, object, thread);
    }
  }

  /// Calls that the ledger would have stopped for.
  [[nodiscard]] unsigned wanted() const { return wanted_; }

 private:
  explicit TwoLedgers(int file) : program_(dup(file)), area_(file, SharedArea::kSmall) {
    for (unsigned i = 0; i < kThreads; ++i) program_.take_slot(i, getpid() + static_cast<int>(i));
  }

  std::string call(Role role, const agent::Site& site, unsigned object, unsigned thread) {
    const auto address = reinterpret_cast<std::uint64_t>(&counters_[object]);
    const agent::WatchedCall watched{address, 0, reinterpret_cast<std::uint64_t>(&stack_[thread]), 0x9000,
                                     thread + 1};
    agent::RuleWatch watch(&program_.shared(), program_.slot(thread), site, watched);
    Execution execution;
    execution.family = FamilyId(kFamily);
    execution.traits = {false, true, 1, false};
    execution.role = role;
    execution.address = address;
    execution.thread = ThreadIndex(thread);
    execution.time_ns = ++now_;
    agent::Moment moment{};
    std::uint8_t flags = 0;
    if (role == Role::init) {
      counters_[object] = 1;
      execution.after = 1;
      execution.at_return = true;
      flags = watch.at_return(address, moment);
    } else {
      execution.before = counters_[object];
      flags = watch.at_entry(moment);
      if (role == Role::get) ++counters_[object];
      if (role == Role::put) --counters_[object];
    }
    watch.release();
    const Outcome outcome = ledger_.apply(execution);
    const bool asks = (flags & agent::kCandidate) != 0;
    if (asks && outcome.object.valid()) table_.correct(history_.object(outcome.object));
    const bool wanted =
        outcome.to_zero || (outcome.finding && outcome.finding->verdict != Verdict::undecidable);
    if (wanted) ++wanted_;
    if (!wanted || asks) return {};
    return outcome.finding ? outcome.finding->why : "a last put";
  }

  FakeProgram program_;
  SharedArea area_;
  RuleTable table_{area_, getpid()};
  History history_;
  Ledger ledger_{history_};
  std::array<int, kObjects * 8> counters_{};
  std::array<std::uint64_t, kThreads> stack_{};
  std::uint64_t now_ = 0;
  unsigned wanted_ = 0;
  const agent::Site birth_ = site(agent::Effect::birth);
  const agent::Site get_ = site(agent::Effect::get);
  const agent::Site put_ = site(agent::Effect::put);
  const agent::Site free_ = site(agent::Effect::free);
};

}  // namespace

TEST_CASE("stop rules: the agent asks about whatever the ledger would stop for") {
  constexpr unsigned kSeeds = 200;
  constexpr unsigned kCalls = 300;
  unsigned wanted = 0;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(seed);
    TwoLedgers both;
    for (unsigned number = 0; number < kCalls; ++number) {
      const std::string missed = both.one_call(random);
      REQUIRE_MESSAGE(missed.empty(), "seed ", seed, ", call ", number, ": the agent did not ask: ", missed);
    }
    wanted += both.wanted();
  }
  CHECK(wanted > kSeeds * kCalls / 10);
}

}  // namespace refhist::test
