#include <doctest/doctest.h>
#include <fmt/core.h>

#include "analysis/lifetime.h"
#include "base/error.h"
#include "base/text.h"
#include "history/history.h"
#include "reports/findings.h"
#include "reports/source_places.h"
#include "reports/verdict_list.h"
#include "reports/xml_text.h"
#include "support/made_up_session.h"

using namespace refhist;

TEST_CASE("text in XML: what may not stand there is replaced") {
  CHECK(xml_text("a<b> & \"c\"") == "a&lt;b&gt; &amp; &quot;c&quot;");
  CHECK(xml_text("tab\tline\n") == "tab\tline\n");
  CHECK(xml_text(std::string_view("\x01\x1f\0x", 4)) == "\\x01\\x1f\\x00x");
  CHECK(xml_text("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80") == "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
  CHECK(xml_text("\xff\xc3") == "\\xff\\xc3");
  CHECK(xml_text("\xc0\xaf") == "\\xc0\\xaf");           // overlong
  CHECK(xml_text("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // half of a pair
}

TEST_CASE("names of source files: relative below the root, percent signs in references") {
  const SourcePlaces places("/src/project");
  CHECK(places.shown("/src/project/a/b.c") == "a/b.c");
  CHECK(places.shown("/src/projects/b.c") == "/src/projects/b.c");
  CHECK(SourcePlaces::uri("/a b/c#.c") == "file:///a%20b/c%23.c");
  CHECK(SourcePlaces::uri("a/b.c") == "a/b.c");
}

TEST_CASE("lists of verdicts") {
  CHECK(verdicts_of("leak, over-put") == std::vector{Verdict::leak, Verdict::over_put});
  CHECK(verdicts_of("imbalance").size() == 5);
  CHECK_THROWS_AS(verdicts_of("leak,"), Error);
  CHECK_THROWS_WITH_AS(verdicts_of("leek"), doctest::Contains("did you mean leak?"), Error);
}

TEST_CASE("text: every occurrence is replaced, also where the new one has the old one in it") {
  CHECK(replace_all("a%pb%p", "%p", "12") == "a12b12");
  CHECK(replace_all("xx", "x", "xx") == "xxxx");
}

namespace {

/// One object: born at 0, taken at 2, put at 3 and 5; the events between are of another one.
History history_of_two() {
  History history;
  Object object;
  object.family = FamilyId(std::size_t{0});
  object.address = 0x10;
  const ObjectId one = history.add_object(object);
  object.address = 0x20;
  const ObjectId other = history.add_object(object);
  const auto add = [&](ObjectId object, Role role, Count before, Count after) {
    Event event;
    event.object = object;
    event.thread = history.thread(1, "main");
    event.role = role;
    event.before = before;
    event.after = after;
    return history.add_event(event);
  };
  history.set_born(one, add(one, Role::init, std::nullopt, 1));
  history.set_born(other, add(other, Role::init, std::nullopt, 1));
  add(one, Role::get, 1, 2);
  add(one, Role::put, 2, 1);
  add(other, Role::get, 1, 2);
  history.object(one).died = add(one, Role::put, 1, 0);
  history.object(one).state = ObjectState::dead;
  return history;
}

}  // namespace

TEST_CASE("an object at earlier moments") {
  const History history = history_of_two();
  const ObjectId one(std::size_t{0});
  const Lifetime life = lifetime_of(history.object(one));
  const auto covers = [&](std::size_t moment) { return life.covers(EventId(moment)); };
  CHECK_FALSE(covers(0));  // nothing has happened
  CHECK(covers(1));
  CHECK(covers(5));
  CHECK_FALSE(covers(6));  // its last put has happened
  CHECK(count_at(history, one, EventId(std::size_t{3})) == 2);
  CHECK(count_at(history, one, EventId(std::size_t{5})) == 1);
  CHECK(count_at(history, one, EventId(std::size_t{0})) == std::nullopt);
}

TEST_CASE("of many events the first and the last are listed, those between are counted") {
  const History history = history_of_two();
  const ObjectId one(std::size_t{0});  // its events are 0, 2, 3 and 5
  const auto shown = [&](std::size_t most, EventId until = EventId()) {
    const History::SomeEvents some = history.some_events_of(one, most, until);
    std::string text;
    for (const EventId id : some.listed) text += fmt::format("{} ", id.value);
    const bool any = some.others.count() != 0;
    CHECK(any == some.others.first.valid());
    return any ? text + fmt::format("and {} in {}-{}", some.others.count(), some.others.first.value,
                                    some.others.last.value)
               : text;
  };
  CHECK(shown(4) == "0 2 3 5 ");
  CHECK(shown(100) == "0 2 3 5 ");
  CHECK(shown(3) == "0 3 5 and 1 in 2-2");
  CHECK(shown(2) == "0 5 and 2 in 2-3");
  CHECK(shown(1) == "5 and 3 in 0-3");
  CHECK(shown(0) == "and 4 in 0-5");
  CHECK(shown(2, EventId(5U)) == "0 3 and 1 in 2-2");
  CHECK(shown(2, EventId(1U)) == "0 ");
  CHECK(shown(2, EventId(0U)).empty());
  std::vector<std::pair<Role, std::uint32_t>> kinds;
  for (const auto& [event, times] : history.kinds_of(history.some_events_of(one, 1).others, one))
    kinds.emplace_back(event.role, times);
  CHECK(kinds.size() == 3);
}

TEST_CASE("births at one place have one origin") {
  const History history = history_of_two();
  CHECK(history.objects()[ObjectId(0U)].birth_origin == history.objects()[ObjectId(1U)].birth_origin);
  CHECK(history.log().origin_of(history.objects()[ObjectId(1U)].born) ==
        history.objects()[ObjectId(1U)].birth_origin);
}

TEST_CASE("a mistake that is made again and again is one finding, with each object once") {
  MadeUpSession session({500, 20, 1U << 30U});
  session.fill(1000, 4);
  History& history = session.state.history;
  const ObjectId first(std::size_t{0});
  const ObjectId other(std::size_t{1});
  for (int i = 0; i < 1000; ++i) {
    for (const ObjectId id : {first, other}) {
      Event put;
      put.object = id;
      put.site = history.event(history.object(id).last_event).site;
      put.role = Role::put;
      put.stack = history.event(history.object(first).last_event).stack;
      history.add_finding({Verdict::over_put, id, history.add_event(put), "again"});
    }
  }
  std::vector<ReportedFinding> over_puts = collect_findings(session.state, {});
  std::erase_if(over_puts, [](const ReportedFinding& one) { return one.verdict != Verdict::over_put; });
  std::size_t objects = 0;
  for (const ReportedFinding& one : over_puts) objects += one.alike.size();
  CHECK(over_puts.size() <= 2);  // by where the two were born
  CHECK(objects == 2);
}
