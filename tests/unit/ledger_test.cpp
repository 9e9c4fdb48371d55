#include "history/ledger.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace refhist {
namespace {

class Flying final : public EventContext {
 public:
  explicit Flying(std::vector<int> changes, bool inside_put, MemoryFate fate, std::vector<int> later = {})
      : changes_(std::move(changes)), later_(std::move(later)), inside_put_(inside_put), fate_(fate) {}
  [[nodiscard]] std::vector<int> in_flight(ObjectId) const override { return changes_; }
  [[nodiscard]] std::vector<int> after_the_look(ObjectId) const override { return later_; }
  [[nodiscard]] bool inside_put(ObjectId) const override { return inside_put_; }
  [[nodiscard]] MemoryFate memory_fate(FamilyId, Address) const override { return fate_; }

 private:
  std::vector<int> changes_;
  std::vector<int> later_;
  bool inside_put_;
  MemoryFate fate_;
};

/// A family "thing", at one address, as the recorder would report it.
class Fixture {
 public:
  Outcome init(Address address = kAddress, Count after = 1) {
    Execution execution = make(Role::init, address);
    execution.after = after;
    execution.at_return = true;
    execution.may_exist = may_exist;
    execution.first_inside = EventId(history.event_count());
    return ledger.apply(execution);
  }
  Outcome get(Count before, std::vector<int> in_flight = {}) { return change(Role::get, before, in_flight); }
  Outcome put(Count before, std::vector<int> in_flight = {}) { return change(Role::put, before, in_flight); }
  Outcome put_at(Address address, Count before) {
    Execution execution = make(Role::put, address);
    execution.before = before;
    const Flying around({}, inside_put, fate);
    execution.around = &around;
    return ledger.apply(execution);
  }
  Outcome release(Count before) {
    Execution execution = make(Role::free, kAddress);
    execution.before = before;
    const Flying around({}, inside_put, fate, after_the_look);
    execution.around = &around;
    execution.among_others = among_others;
    return ledger.apply(execution);
  }
  ObjectId newest_id() { return history.newest_at(FamilyId(0U), kAddress); }
  const Object& newest() { return history.object(newest_id()); }

  static constexpr Address kAddress = 0x1000;
  History history;
  Ledger ledger{history};
  FamilyTraits traits{.has_init = true};
  bool inside_put = false;  // of the events' thread
  std::vector<int> after_the_look;
  bool among_others = false;
  bool may_exist = false;  // what a constructor returns
  MemoryFate fate = MemoryFate::unknown;
  long thread = 1;
  std::vector<Address> calls;  // of the events' stack, the innermost first

 private:
  Execution make(Role role, Address address) {
    Execution execution;
    execution.family = FamilyId(0U);
    execution.traits = traits;
    execution.site = SiteId(0U);
    execution.role = role;
    execution.address = address;
    execution.thread = history.thread(thread, "main");
    std::vector<StackFrame> frames;
    for (const Address pc : calls) frames.push_back({ModuleId(), pc});
    if (!frames.empty()) execution.stack = history.stacks().intern(frames, false);
    return execution;
  }
  Outcome change(Role role, Count before, std::vector<int> in_flight) {
    Execution execution = make(role, kAddress);
    execution.before = before;
    const Flying around(std::move(in_flight), inside_put, fate, after_the_look);
    execution.around = &around;
    return ledger.apply(execution);
  }
};

Verdict verdict_of(const Outcome& outcome) {
  REQUIRE(outcome.finding.has_value());
  return outcome.finding->verdict;
}

}  // namespace

TEST_CASE("a clean life ends with the put that takes the count to zero") {
  Fixture f;
  f.init();
  CHECK_FALSE(f.get(1).to_zero);
  CHECK_FALSE(f.put(2).to_zero);
  CHECK(f.put(1).to_zero);
  CHECK(f.newest().state == ObjectState::dead);
  CHECK(f.newest().complete);
  CHECK(f.newest().events == 4);
  CHECK(f.history.findings().empty());
}

TEST_CASE("the count after a plain get or put is derived, after an init it is read") {
  Fixture f;
  const Outcome born = f.init();
  const Outcome got = f.get(1);
  CHECK(f.history.event(born.event).after_source == CountSource::read);
  CHECK(f.history.event(got.event).after_source == CountSource::derived);
  CHECK(f.history.event(got.event).after == Count(2));
}

TEST_CASE("an address that is born again is another object") {
  Fixture f;
  f.init();
  f.put(1);
  f.init();
  CHECK(f.history.objects().size() == 2);
  CHECK(f.newest().generation == 2);
  CHECK(f.newest().state == ObjectState::live);
}

TEST_CASE("a live object whose address is born again has an end that was not seen, and is no leak") {
  Fixture f;
  f.init();
  f.init();
  CHECK(f.history.objects()[ObjectId(0U)].state == ObjectState::unknown);
  CHECK_FALSE(f.history.note(ObjectId(0U)).empty());
}

TEST_CASE("an object first seen in mid-life is incomplete and starts from the counter") {
  Fixture f;
  f.get(3);
  CHECK_FALSE(f.newest().complete);
  CHECK(f.history.before_seen(f.newest_id()) == 3);
  CHECK(f.newest().ledger == 4);
}

TEST_CASE("without a counter an object first seen in mid-life has no known count and never ends by it") {
  Fixture f;
  f.get(std::nullopt);
  CHECK_FALSE(f.put(std::nullopt).to_zero);
  CHECK_FALSE(f.put(std::nullopt).to_zero);
  CHECK_FALSE(f.newest().base_known);
  CHECK(f.history.findings().empty());
}

TEST_CASE("a counter that moved without a probe is recorded as an event of its own") {
  Fixture f;
  f.init();
  f.get(4);
  REQUIRE(f.newest().events == 3);
  const Event unseen = f.history.life_of(f.newest_id())[1].second;
  CHECK(unseen.unobserved);
  CHECK(unseen.before == Count(1));
  CHECK(unseen.after == Count(4));
  CHECK(f.newest().moved_unobserved);
  CHECK(f.newest().ledger == 5);
}

TEST_CASE("what moved a counter behind a loss of events may have been one of them") {
  Fixture f;
  f.init();
  CHECK_FALSE(f.history.lost());
  CHECK_FALSE(f.history.lost_since(EventId(0U)));
  f.get(3);  // before the loss: #1 is unobserved, #2 the get
  f.history.note_lost();
  f.get(7);
  CHECK(f.history.lost());
  CHECK(f.history.lost_from() == EventId(3U));
  std::vector<bool> unobserved;
  std::vector<bool> behind;
  for (const auto& [id, event] : f.history.life_of(f.newest_id())) {
    unobserved.push_back(event.unobserved);
    behind.push_back(f.history.lost_before(id));
  }
  CHECK(unobserved == std::vector<bool>{false, true, false, true, false});
  CHECK(behind == std::vector<bool>{false, false, false, true, true});
  CHECK(f.history.lost_since(EventId(3U)));
  CHECK_FALSE(f.history.lost_since(EventId(4U)));
  f.history.note_lost();
  CHECK(f.history.lost_from() == EventId(3U));
  CHECK(f.history.lost_since(EventId(5U)));
}

TEST_CASE("what another thread has in flight is no unobserved change") {
  Fixture f;
  f.init();
  f.get(1);
  f.put(2);        // thread A stands before its decrement
  f.get(2, {-1});  // thread B still reads 2
  CHECK_FALSE(f.newest().moved_unobserved);
  CHECK(f.newest().ledger == 2);
}

TEST_CASE("changes in flight explain what lies between them and nothing else") {
  CHECK(explained_by(1, 2, {-1}));
  CHECK(explained_by(2, 1, {1}));
  CHECK(explained_by(3, 3, {1, -1}));
  CHECK_FALSE(explained_by(1, 3, {-1}));
  CHECK_FALSE(explained_by(1, 0, {-1}));
  CHECK_FALSE(explained_by(1, 2, {}));
}

TEST_CASE("a put while the counter reads zero is an over-put") {
  Fixture f;
  f.init();
  f.put(1);
  CHECK(verdict_of(f.put(0)) == Verdict::over_put);
}

TEST_CASE("a counter that is given back to before what it owes is added to it may be below zero") {
  constexpr Address kSettled = 0x20;
  Fixture f;
  f.traits.born = 0;
  f.traits.revives = true;
  f.fate = MemoryFate::kept;
  f.init(Fixture::kAddress, 0);
  f.calls = {0x10, 0x11, 0x12};
  CHECK(verdict_of(f.put(0)) == Verdict::over_put);
  f.calls = {kSettled, 0x21, 0x12};
  f.get(-1);
  SUBCASE("what adds it gives the memory back at zero") {
    f.calls = {0x30, 0x21, 0x12};
    f.release(std::nullopt);
    CHECK(f.history.findings().empty());
  }
  SUBCASE("it is no excuse where something else does") {
    f.calls = {0x30, 0x31, 0x12};
    f.release(std::nullopt);
    CHECK(f.history.findings().size() == 2);
  }
}

TEST_CASE("a get while the counter reads zero is a resurrection") {
  Fixture f;
  f.init();
  f.put(1);
  CHECK(verdict_of(f.get(0)) == Verdict::resurrection);
}

TEST_CASE("where a family says so, an object at zero is taken again") {
  Fixture f;
  f.traits.revives = true;
  f.init();
  f.put(1);
  CHECK_FALSE(f.get(0).finding.has_value());
  CHECK(f.newest().state == ObjectState::live);
  CHECK(f.put(1).to_zero);
  SUBCASE("not put once more") { CHECK(verdict_of(f.put(0)) == Verdict::over_put); }
  SUBCASE("not when its memory was given back") {
    f.release(0);
    f.fate = MemoryFate::gone;
    CHECK(verdict_of(f.get(0)) == Verdict::use_after_free);
  }
}

TEST_CASE("a get from zero is no mistake as long as the allocator shows that the memory was kept") {
  Fixture f;
  f.fate = MemoryFate::kept;
  f.init();
  f.put(1);
  CHECK_FALSE(f.get(0).finding.has_value());
  CHECK(f.newest().state == ObjectState::live);
  CHECK(verdict_of((f.put(1), f.put(0))) == Verdict::over_put);
}

TEST_CASE("where others ask whether references are left, a get from zero comes too late") {
  Fixture f;
  f.fate = MemoryFate::kept;
  f.traits.has_try_get = true;
  f.init();
  f.put(1);
  CHECK(verdict_of(f.get(0)) == Verdict::resurrection);
}

TEST_CASE("a get while another thread's last put runs: what the family's puts do at zero decides") {
  Fixture f;
  f.fate = MemoryFate::kept;
  f.init();
  f.put(1);
  f.inside_put = true;
  CHECK_FALSE(f.release(0).finding.has_value());  // this family's puts free
  f.inside_put = false;
  f.init();
  f.put(1);
  CHECK(verdict_of(f.get(0, {-1})) == Verdict::resurrection);
}

TEST_CASE("the last put frees what another thread has taken from zero") {
  Fixture f;
  f.fate = MemoryFate::kept;
  f.init();
  f.put(1);
  f.thread = 2;
  const Outcome taken = f.get(0, {-1});
  CHECK_FALSE(taken.finding.has_value());
  f.thread = 1;
  f.inside_put = true;
  const Outcome freed = f.release(1);
  CHECK(verdict_of(freed) == Verdict::resurrection);
  CHECK(freed.finding->event == taken.event);
}

TEST_CASE("whoever has taken an object from zero may free it") {
  Fixture f;
  f.fate = MemoryFate::kept;
  f.init();
  f.put(1);
  f.get(0);
  CHECK_FALSE(f.release(1).finding.has_value());
}

TEST_CASE("a get or put after the memory was given back is a use after free") {
  Fixture f;
  f.init();
  f.put(1);
  f.release(0);
  SUBCASE("its allocator has not handed it out again") {
    f.fate = MemoryFate::gone;
    SUBCASE("whatever the counter reads") { CHECK(verdict_of(f.put(77)) == Verdict::use_after_free); }
    SUBCASE("a second free") { CHECK(verdict_of(f.release(0)) == Verdict::use_after_free); }
  }
  SUBCASE("it may have, and the counter reads zero") {
    CHECK(verdict_of(f.put(0)) == Verdict::use_after_free);
  }
  SUBCASE("it may have, and the counter reads half of a pointer") {
    CHECK(verdict_of(f.put(0x5555)) == Verdict::use_after_free);
  }
}

TEST_CASE("behind a loss of events, a dead object's address may be another's") {
  Fixture f;
  f.fate = MemoryFate::gone;
  f.init();
  f.put(1);
  f.release(0);
  f.history.note_lost();
  CHECK_FALSE(f.put(2).finding.has_value());
  f.release(1);
  f.history.note_lost();
  CHECK_FALSE(f.release(1).finding.has_value());
  f.init();
  f.put(1);
  f.release(0);
  CHECK(f.put(2).finding.has_value());
}

TEST_CASE("a used address may belong to another object, whose birth was not seen") {
  Fixture f;
  f.init();
  f.put(1);
  SUBCASE("it does when its counter lives") { CHECK_FALSE(f.get(3).finding.has_value()); }
  SUBCASE("also when the memory was given back and handed out again") {
    f.release(0);
    f.fate = MemoryFate::handed_out_again;
    SUBCASE("") { CHECK_FALSE(f.put(2).finding.has_value()); }
    SUBCASE("and its first reference is taken from zero") { CHECK_FALSE(f.get(0).finding.has_value()); }
  }
  SUBCASE("undecidable when nobody knows whether the memory was handed out again") {
    f.release(0);
    CHECK(verdict_of(f.put(2)) == Verdict::undecidable);
  }
  SUBCASE("undecidable when what is there is no counter") {
    CHECK(verdict_of(f.get(0x555555551000)) == Verdict::undecidable);
  }
  SUBCASE("or nothing is known of it") { CHECK(verdict_of(f.put(std::nullopt)) == Verdict::undecidable); }
  CHECK(f.history.objects().size() == 2);
  CHECK_FALSE(f.newest().complete);
}

TEST_CASE("a destructor may take and give references inside the last put") {
  Fixture f;
  f.init();
  f.put(1);
  const Outcome got = f.get(1, {-1});
  CHECK_FALSE(got.finding.has_value());
  CHECK(f.history.event(got.event).during_death);
  f.put(2, {-1});
  CHECK(f.history.findings().empty());
  CHECK(f.newest().ledger == 0);
}

TEST_CASE("a destructor may take its object back: a pool does") {
  Fixture f;
  f.init();
  f.put(1);
  SUBCASE("inside the last put, which then ends without giving the memory back") {
    f.inside_put = true;
    const Outcome got = f.get(0, {-1});
    CHECK_FALSE(got.finding.has_value());
    CHECK(f.history.event(got.event).during_death);
    CHECK(f.newest().state == ObjectState::live);
    f.inside_put = false;
    CHECK(f.put(1).to_zero);
    CHECK(f.history.findings().empty());
  }
  SUBCASE("not when the memory goes nevertheless") {
    f.inside_put = true;
    f.get(0, {-1});
    CHECK(verdict_of(f.release(1)) == Verdict::free_while_referenced);
  }
  SUBCASE("it may not give back what it has not") {
    f.inside_put = true;
    CHECK(verdict_of(f.put(0, {-1})) == Verdict::over_put);
  }
  SUBCASE("another thread may not") { CHECK(verdict_of(f.get(0, {-1})) == Verdict::resurrection); }
}

TEST_CASE("a counter that a destructor has set is its own thread's business") {
  Fixture f;
  f.init();
  f.put(1);
  SUBCASE("inside the last put") {
    f.inside_put = true;
    CHECK_FALSE(f.get(1000, {-1}).finding.has_value());
  }
  SUBCASE("another thread uses the object while its last put runs, or after it") {
    CHECK(verdict_of(f.put(1000, {-1})) == Verdict::use_after_free);
  }
  SUBCASE("that has not taken effect yet") { CHECK_FALSE(f.put(1, {-1}).finding.has_value()); }
}

TEST_CASE("an object that becomes immortal is followed no longer, where the family has such") {
  Fixture f;
  SUBCASE("it has") {
    f.traits.immortal_below_zero = true;
    f.init();
    CHECK_FALSE(f.get(-1).event.valid());
    CHECK_FALSE(f.put(-1).finding.has_value());
    CHECK_FALSE(f.release(-1).finding.has_value());
    CHECK(f.newest().state == ObjectState::unknown);
    CHECK(f.history.findings().empty());
    CHECK(f.history.event_count() == 1);
  }
  SUBCASE("it has not") {
    f.init();
    CHECK(verdict_of(f.put(-1)) == Verdict::over_put);
  }
}

TEST_CASE("free while references are outstanding") {
  Fixture f;
  f.init();
  f.get(1);
  CHECK(verdict_of(f.release(2)) == Verdict::free_while_referenced);
}

TEST_CASE("objects that go together may have held each other") {
  Fixture f;
  f.init();
  f.get(1);
  f.among_others = true;
  CHECK_FALSE(f.release(2).finding.has_value());
  CHECK(f.newest().state == ObjectState::dead);
}

TEST_CASE("whoever has the only reference may free the object") {
  Fixture f;
  f.init();
  SUBCASE("as its counter says") { CHECK_FALSE(f.release(1).finding.has_value()); }
  SUBCASE("as the events say") { CHECK_FALSE(f.release(std::nullopt).finding.has_value()); }
  SUBCASE("and another one had given back its own") {
    f.get(1);
    f.put(2);
    CHECK_FALSE(f.release(1).finding.has_value());
  }
  CHECK(f.newest().state == ObjectState::dead);
  CHECK(verdict_of(f.put(0x5555)) == Verdict::use_after_free);
}

TEST_CASE("free is clean when the counter went to zero by an unarmed copy of put") {
  Fixture f;
  f.init();
  CHECK_FALSE(f.release(0).finding.has_value());
  CHECK(f.newest().moved_unobserved);
}

TEST_CASE("nobody is accused of a free while the counter reads zero, whatever other threads have done") {
  Fixture f;
  f.init();
  f.get(1);
  f.after_the_look = {0, 2};
  CHECK_FALSE(f.release(0).finding.has_value());
  CHECK(f.newest().moved_unobserved);
}

TEST_CASE("free without a counter accuses only when no copy of put is unarmed") {
  Fixture f;
  f.init(Fixture::kAddress, std::nullopt);
  f.get(std::nullopt);
  SUBCASE("all copies armed") {
    CHECK(verdict_of(f.release(std::nullopt)) == Verdict::free_while_referenced);
  }
  SUBCASE("blind") {
    f.traits.blind = true;
    CHECK_FALSE(f.release(std::nullopt).finding.has_value());
  }
}

TEST_CASE("a reference taken inside the constructor belongs to the life that it begins") {
  Fixture f;
  Execution execution;
  execution.family = FamilyId(0U);
  execution.traits = f.traits;
  execution.site = SiteId(0U);
  execution.role = Role::init;
  execution.address = Fixture::kAddress;
  execution.thread = f.history.thread(1, "main");
  execution.first_inside = EventId(f.history.event_count());
  execution.at_return = true;
  execution.after = 2;
  f.get(1);
  f.ledger.apply(execution);
  CHECK(f.history.objects().size() == 1);
  CHECK(f.newest().complete);
  CHECK(f.newest().ledger == 2);
}

TEST_CASE("a constructor around a constructor tells one birth") {
  Fixture f;
  Execution outer;
  outer.family = FamilyId(0U);
  outer.traits = f.traits;
  outer.site = SiteId(1U);
  outer.role = Role::init;
  outer.address = Fixture::kAddress;
  outer.thread = f.history.thread(1, "main");
  outer.first_inside = EventId(f.history.event_count());
  outer.at_return = true;
  outer.after = 1;
  f.init();
  CHECK_FALSE(f.ledger.apply(outer).event.valid());
  CHECK(f.history.objects().size() == 1);
  CHECK(f.newest().events == 1);
}

TEST_CASE("objects born with count zero get their first reference without blame") {
  Fixture f;
  f.traits.born = 0;
  f.init(Fixture::kAddress, 0);
  CHECK_FALSE(f.get(0).finding.has_value());
  CHECK(f.put(1).to_zero);
  CHECK(f.history.findings().empty());
}

TEST_CASE("a constructor that hands out an object it keeps makes no new one") {
  Fixture f;
  f.init();
  f.get(1);
  SUBCASE("with a reference more: a get") {
    const Outcome outcome = f.init(Fixture::kAddress, 3);
    REQUIRE(outcome.event.valid());
    CHECK(f.history.event(outcome.event).role == Role::get);
    CHECK(f.newest().ledger == 3);
  }
  SUBCASE("with none: nothing") { CHECK_FALSE(f.init(Fixture::kAddress, 2).event.valid()); }
  CHECK(f.history.objects().size() == 1);
}

TEST_CASE("what may exist is born where it has the count of a new object") {
  Fixture f;
  f.may_exist = true;
  SUBCASE("one that nobody has seen, with more: no birth") {
    CHECK_FALSE(f.init(Fixture::kAddress, 2).object.valid());
    CHECK(f.history.objects().empty());
  }
  SUBCASE("one that was seen in mid-life stays that") {
    f.get(1);
    CHECK_FALSE(f.init(Fixture::kAddress, 2).event.valid());
    CHECK_FALSE(f.init(Fixture::kAddress, 5).event.valid());
    CHECK_FALSE(f.newest().complete);
    CHECK(f.history.objects().size() == 1);
  }
  SUBCASE("a new one, also where another one lived") {
    f.init();
    f.put(1);
    f.init();
    CHECK(f.newest().complete);
    CHECK(f.history.objects().size() == 2);
  }
}

TEST_CASE("a static object, with a counter that never counts, is no object of ours") {
  Fixture f;
  CHECK_FALSE(f.put(0).object.valid());
  CHECK_FALSE(f.get(-1).object.valid());
  CHECK(f.history.objects().empty());
}

TEST_CASE("freed twice is a mistake where the memory was not handed out again") {
  Fixture f;
  f.init();
  f.put(1);
  f.release(0);
  f.fate = MemoryFate::gone;
  CHECK(verdict_of(f.release(0)) == Verdict::use_after_free);
}

TEST_CASE(
    "freed twice is no mistake where something of the family went unseen: another object may have lived") {
  Fixture f;
  f.init();
  f.release(0);  // the count went to zero without a put
  CHECK(f.history.births_in_doubt(FamilyId(0U)));
  const Outcome again = f.release(0);
  CHECK_FALSE(again.finding.has_value());
  CHECK_FALSE(f.newest().complete);
}

TEST_CASE("births are in doubt as long as an object is incomplete") {
  Fixture f;
  f.get(1);
  CHECK(f.history.births_in_doubt(FamilyId(0U)));
  CHECK_FALSE(f.history.births_in_doubt(FamilyId(1U)));
  f.history.set_complete(ObjectId(0U), true);  // it was only inside its constructor
  CHECK_FALSE(f.history.births_in_doubt(FamilyId(0U)));
}

TEST_CASE("free while referenced: the counter says so, or nothing can have been missed") {
  Fixture f;
  f.init();
  f.get(1);
  SUBCASE("the counter was read") {
    f.traits.copies_unknown = true;
    CHECK(verdict_of(f.release(2)) == Verdict::free_while_referenced);
  }
  SUBCASE("every copy of the functions is known") {
    CHECK(verdict_of(f.release(std::nullopt)) == Verdict::free_while_referenced);
  }
  SUBCASE("copies may be inlined where nobody knows") {
    f.traits.copies_unknown = true;
    CHECK(verdict_of(f.release(std::nullopt)) == Verdict::undecidable);
  }
  SUBCASE("something of the family went unseen before") {
    f.history.note_unseen(FamilyId(0U));
    CHECK(verdict_of(f.release(std::nullopt)) == Verdict::undecidable);
  }
  SUBCASE("copies are known that are not armed") {
    f.traits.blind = true;
    CHECK_FALSE(f.release(std::nullopt).finding.has_value());
  }
}

TEST_CASE("an object whose counter reads 0 at birth, and does not move, is not counted") {
  Fixture f;
  f.init(Fixture::kAddress, 0);
  SUBCASE("a put") { CHECK_FALSE(f.put(0).event.valid()); }
  SUBCASE("a get, and a put") {
    CHECK(f.get(0).event.valid());
    CHECK_FALSE(f.put(0).event.valid());
    CHECK(f.newest().state == ObjectState::unknown);
  }
  SUBCASE("but one whose first get is seen is") {
    f.get(0);
    f.put(1);
    CHECK(verdict_of(f.put(0)) == Verdict::over_put);
  }
  CHECK(f.history.findings().size() <= 1);
}

TEST_CASE("a full counter may stay so") {
  Fixture f;
  f.traits.saturated = 3;
  f.init();
  f.get(1);
  f.get(2);
  CHECK_FALSE(f.put(3).event.valid());
  CHECK_FALSE(f.put(3).event.valid());
  CHECK(f.newest().state == ObjectState::unknown);
}

TEST_CASE("what reads like several counts in one word is no count") {
  Fixture f;
  f.get(std::int64_t{1} << 32);
  CHECK_FALSE(f.newest_id().valid());
  f.init(Fixture::kAddress, (std::int64_t{1} << 32) + 1);
  CHECK_FALSE(f.newest_id().valid());
}

TEST_CASE("an object that was copied before its memory went was not freed while referenced") {
  Fixture f;
  f.init();
  f.get(1);
  f.get(2);
  CHECK(verdict_of(f.release(3)) == Verdict::free_while_referenced);
  SUBCASE("one with as many references is seen elsewhere") {
    f.put_at(0x2000, 3);
    CHECK(f.history.findings().empty());
  }
  SUBCASE("one with others is another one") {
    f.put_at(0x2000, 2);
    CHECK(f.history.findings().size() == 1);
  }
}

TEST_CASE("what came after the look at the counter is no unobserved change") {
  Fixture f;
  f.init();
  f.get(1);
  f.after_the_look = {0, 1};  // the get
  f.get(1);
  CHECK_FALSE(f.newest().moved_unobserved);
  CHECK(f.newest().ledger == 3);
  f.get(1);  // the two of them
  CHECK(f.newest().moved_unobserved);
}

}  // namespace refhist
