// What is folded is told as if it had not been: two sessions with the same events, of which one folds.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/balance_tree.h"
#include "analysis/growth.h"
#include "analysis/leaks.h"
#include "base/error.h"
#include "history/object_table.h"
#include "session/history_folder.h"
#include "store/session_reader.h"
#include "store/session_writer.h"
#include "support/made_up_session.h"

namespace refhist {
namespace {

constexpr std::size_t kEvents = 30'000;
constexpr std::size_t kAlive = 60;
const MadeUpSession::Shape kShape{12, 3, 40};

using Lines = std::vector<std::string>;

void tell_usage(SessionState& state, Lines& lines) {
  Birthplaces births(state.history, state.sites, state.namer);
  std::map<std::string, std::string> places;
  for (const PlaceUsage& entry : usage_at(state.history, births, state.folded, {})) {
    const Usage& usage = entry.usage;
    places[entry.place->text()] = fmt::format(
        "{} born, {} live, {} bytes, peak {} at {}, {} bytes at {}", usage.born, usage.live, usage.live_bytes,
        usage.peak.objects, usage.peak.objects_at.value, usage.peak.bytes, usage.peak.bytes_at.value);
  }
  for (const auto& [place, text] : places) lines.push_back(place + ": " + text);
}

void tell_growth(SessionState& state, Lines& lines) {
  std::vector<EventId> moments;
  for (const Snapshot& snapshot : state.snapshots) moments.push_back(snapshot.moment);
  Birthplaces births(state.history, state.sites, state.namer);
  std::map<std::string, std::string> places;
  for (const PlaceGrowth& growth : growth_between(state.history, births, state.folded, moments)) {
    for (const std::uint64_t live : growth.live) places[growth.place->text()] += fmt::format(" {}", live);
  }
  for (const auto& [place, text] : places) lines.push_back(place + " lived:" + text);
}

/// Suspects lean on the order of events where that is known: of a folded history they may be others.
enum class Tell { suspects_too, no_suspects };

void tell_leaks(SessionState& state, Tell what, Lines& lines) {
  LeakFinder finder(state.history, state.sites, state.families, state.namer, state.folded, state.managed,
                    state.confirmed);
  for (const LeakGroup& group : finder.find({})) {
    std::string text = fmt::format("{} in {}, {} siblings, {}:", verdict_name(group.verdict),
                                   FrameNamer::text(group.born), group.clean_siblings, group.why);
    for (const ObjectId id : group.objects) text += fmt::format(" {:#x}", state.history.object(id).address);
    if (what == Tell::no_suspects) {
      lines.push_back(std::move(text));
      continue;
    }
    for (const Suspect& suspect : group.suspects) text += "; " + suspect.what + " " + suspect.why;
    lines.push_back(std::move(text));
  }
  if (what == Tell::no_suspects) return;
  for (const Finding& finding : state.history.findings()) {
    for (const Suspect& suspect : finder.suspects_of(finding.object))
      lines.push_back(suspect.what + " " + suspect.why);
  }
}

void tell_balance(SessionState& state, Lines& lines) {
  BalanceTree tree(state.history, state.namer);
  for (const auto& [id, object] : state.history.objects()) {
    if (object.state == ObjectState::live) tree.add(id);
  }
  const auto& root = tree.pruned();
  lines.push_back(fmt::format("{} taken, {} given", root.taken, root.given));
  for (const auto& [name, call] : root.calls)
    lines.push_back(fmt::format("{}: {} taken, {} given", name, call->taken, call->given));
}

Lines told(SessionState& state, Tell what = Tell::suspects_too) {
  Lines lines;
  tell_usage(state, lines);
  tell_growth(state, lines);
  tell_leaks(state, what, lines);
  tell_balance(state, lines);
  return lines;
}

/// Rounds of events with a snapshot and an object put too often in each.
void fill(MadeUpSession& session, const std::function<void()>& each) {
  SessionState& state = session.state;
  for (int round = 0; round < 4; ++round) {
    session.fill(kEvents / 4, kAlive);
    state.snapshots.push_back(Snapshot{std::to_string(round), EventId(state.history.event_count())});
    EventId died(0U);
    for (const auto& [id, object] : state.history.objects()) {
      if (object.died.valid()) died = std::max(died, object.died);
    }
    const ObjectId last_dead = state.history.event(died).object;
    state.history.add_finding(Finding{Verdict::over_put, last_dead, died, "made up"});
    each();
  }
}

void fold(SessionState& state, Keep keep) {
  state.keep = keep;
  HistoryFolder(state).apply_options();
}

void expect_whole_lives(const MadeUpSession& whole, const MadeUpSession& folded) {
  std::size_t with_gaps = 0;
  for (const auto& [id, object] : folded.state.history.objects()) {
    const auto life = folded.state.history.life_of(id);
    const auto all = whole.state.history.life_of(id);
    std::size_t counted = 0;
    for (const auto& [event, times] : folded.state.history.folded_life_of(id)) counted += times;
    with_gaps += counted != 0 ? 1 : 0;
    REQUIRE(life.size() + counted == all.size());
    for (const auto& entry : life) CHECK(std::find(all.begin(), all.end(), entry) != all.end());
    CHECK(life.front() == all.front());
    CHECK(life.back() == all.back());
  }
  CHECK((with_gaps != 0) == (folded.state.keep == Keep::suspect));
}

}  // namespace

TEST_CASE("folding: an object table keeps what is not removed, under its id") {
  std::mt19937_64 random(7);
  ObjectTable table;
  std::map<ObjectId, Address> model;
  for (int round = 0; round < 30; ++round) {
    const std::size_t more = random() % 700;
    for (std::size_t i = 0; i < more; ++i) {
      Object object;
      object.address = random();
      const ObjectId id = table.add(object);
      CHECK(model.emplace(id, object.address).second);
    }
    const std::size_t every = 1 + random() % 4;
    for (auto entry = model.begin(); entry != model.end();) {
      const bool gone = random() % (1 + every) != 0;
      table.set_fold(entry->first, gone ? Fold::gone : Fold::early);
      CHECK(table.fold(entry->first) == (gone ? Fold::gone : Fold::early));
      entry = gone ? model.erase(entry) : std::next(entry);
    }
    table.remove_gone();
    REQUIRE(table.kept() == model.size());
    auto expected = model.begin();
    for (const auto& [id, object] : table) {
      REQUIRE(expected != model.end());
      CHECK(id == expected->first);
      CHECK(object.address == expected->second);
      CHECK(table[id].address == expected->second);
      CHECK(table.fold(id) == Fold::nothing);
      ++expected;
    }
    CHECK(expected == model.end());
    for (std::size_t i = 0; i < table.size(); ++i)
      CHECK(table.contains(ObjectId(i)) == model.contains(ObjectId(i)));
  }
  CHECK(table.size() > 5000);
  const ObjectId removed(0U);
  REQUIRE(!table.contains(removed));
  CHECK_THROWS_AS((void)table[removed], Error);
}

TEST_CASE("folding: a table with few objects left is small") {
  ObjectTable table;
  for (std::size_t i = 0; i < 1'000'000; ++i) table.add(Object{});
  for (std::size_t i = 0; i < 1'000'000; ++i) {
    if (i % 10'000 != 0) table.set_fold(ObjectId(i), Fold::gone);
  }
  table.remove_gone();
  CHECK(table.kept() == 100);
  CHECK(table.bytes() < 1'000'000);
}

TEST_CASE("folding: reports tell the same of what was folded") {
  for (const Keep keep : {Keep::live, Keep::suspect}) {
    CAPTURE(static_cast<int>(keep));
    MadeUpSession whole(kShape);
    MadeUpSession folded(kShape);
    fill(whole, [] {});
    int rounds = 0;
    fill(folded, [&] {
      fold(folded.state, Keep::all);
      fold(folded.state, keep);
      CHECK(folded.state.history.log().kept() < folded.state.history.event_count() / 2);
      ++rounds;
    });
    CHECK(rounds == 4);
    const std::uint64_t gone = folded.state.folded.objects();
    CHECK(gone > kEvents / 20);
    CHECK(gone + folded.state.history.objects().kept() == whole.state.history.objects().size());
    const Lines lines = told(whole.state, Tell::no_suspects);
    CHECK(lines.size() > 20);
    CHECK(told(folded.state, Tell::no_suspects) == lines);
    expect_whole_lives(whole, folded);
  }
}

TEST_CASE("folding: a file with folded objects tells the same") {
  MadeUpSession folded(kShape);
  fill(folded, [&] {
    fold(folded.state, Keep::all);
    fold(folded.state, Keep::suspect);
  });
  const auto path = std::filesystem::temp_directory_path() / fmt::format("refhist-folding-{}.rh", getpid());
  SessionWriter(folded.state, SessionWriter::Events::packed).write(path);
  SessionState opened;
  SessionReader(path).open(opened);
  CHECK(told(opened) == told(folded.state));
  CHECK(opened.history.log().kept() == folded.state.history.log().kept());
  for (const auto& [id, object] : folded.state.history.objects()) {
    REQUIRE(opened.history.objects().contains(id));
    CHECK(opened.history.object(id).generation == object.generation);
    CHECK(opened.history.folded_life_of(id).size() == folded.state.history.folded_life_of(id).size());
    CHECK(opened.history.life_of(id) == folded.state.history.life_of(id));
  }
  std::filesystem::remove(path);
}

TEST_CASE("folding: a limit of memory is kept by folding the oldest dead first") {
  MadeUpSession session(kShape);
  SessionState& state = session.state;
  HistoryFolder folder(state);
  constexpr std::size_t kLimit = 4U << 20U;
  state.memory_limit = kLimit;
  session.fill(1'500'000, 3000, [&] { folder.fold_when_due(); });
  CHECK(state.memory() < kLimit + kLimit / 4);
  CHECK(!state.over_limit);
  CHECK(state.folded.by_limit);
  CHECK(state.folded.objects() > 50'000);
  // What is left of the dead has died later than what is gone: ids are given in the order of birth.
  std::size_t dead = 0;
  ObjectId oldest;
  for (const auto& [id, object] : state.history.objects()) {
    if (object.state != ObjectState::dead || !object.superseded) continue;
    oldest = std::min(oldest, id);
    ++dead;
  }
  CHECK(dead > 1000);
  CHECK(oldest.index() > state.folded.objects() / 2);
}

TEST_CASE("folding: what lives is not folded for the limit, and that is said") {
  MadeUpSession session(kShape);
  SessionState& state = session.state;
  HistoryFolder folder(state);
  state.memory_limit = 1U << 20U;
  session.fill(200'000, 300'000, [&] { folder.fold_when_due(); });  // births
  CHECK(state.over_limit);
  CHECK(state.folded.objects() == 0);
  CHECK(state.history.objects().kept() == 200'000);
  CHECK(state.history.log().kept() == 200'000);
}

}  // namespace refhist
