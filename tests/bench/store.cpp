// What a history takes in memory and in a file, and how long questions take: store [EVENTS…] (default 1, 10
// and 100 million), beside plain rows of SQLite (up to --rows EVENTS, default 10 million).
//
// The history is made up: objects of ten events each (a birth, four gets, five puts) on four threads, a
// thousand at a time, with 500 stacks of 16 frames; one in a thousand is never released.
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "analysis/leaks.h"
#include "session/session_state.h"
#include "store/session_reader.h"
#include "store/session_writer.h"
#include "symbols/recorded_module.h"

namespace {

using namespace refhist;

constexpr std::size_t kEventsPerObject = 10;
constexpr std::size_t kAlive = 1000;
constexpr std::size_t kStacks = 500;
constexpr std::size_t kDepth = 16;
constexpr std::size_t kQuestions = 1000;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A session with a family and 500 stacks, and no event.
class MadeUpSession {
 public:
  MadeUpSession() {
    auto module =
        std::make_shared<RecordedModule>(RecordedModule::Identity{"/usr/lib/libmade.so", "00", "", true});
    for (Address pc = 0; pc < kStacks * kDepth; ++pc)
      module->add_frame(16 * pc, SourceFrame{fmt::format("function_{}", pc), "made.c", unsigned(pc), false});
    const ModuleId id = state.modules.remember(module, 0x7f0000000000, 0x7f0000000000, 0x7f0000100000);
    TrackedFamily tracked;
    tracked.family.name = "made";
    state.families.push_back(tracked);
    for (const Role role : {Role::init, Role::get, Role::put}) {
      Site site;
      site.family = FamilyId(std::size_t{0});
      site.role = role;
      site.module = id;
      site.function = fmt::format("made_{}", role_name(role));
      sites_.push_back(state.sites.add(site));
    }
    for (std::size_t i = 0; i < kStacks; ++i) {
      std::vector<StackFrame> frames;
      for (std::size_t d = 0; d < kDepth; ++d)
        frames.push_back({id, 16 * ((d < 4 ? i : i / 50) * kDepth + d) + 1, false});
      stacks_.push_back(state.history.stacks().intern(frames, false));
    }
    for (long tid = 1; tid <= 4; ++tid) threads_.push_back(state.history.thread(tid, "worker"));
  }

  void fill(std::size_t events) {
    std::mt19937_64 random(1);
    std::vector<std::pair<ObjectId, std::size_t>> alive;
    for (std::size_t made = 0; made < events;) {
      if (alive.size() < kAlive) {
        alive.emplace_back(birth(made), 1);
        ++made;
        continue;
      }
      auto& [object, count] = alive[random() % alive.size()];
      const bool leaked = object.index() % kAlive == 7 && count == kEventsPerObject - 1;
      if (!leaked) {
        change(object, count, made++);
        ++count;
      }
      if (leaked || count == kEventsPerObject) {
        std::swap(alive.back(), *std::find(alive.begin(), alive.end(), std::pair(object, count)));
        alive.pop_back();
      }
    }
  }

  SessionState state;

 private:
  Event event(ObjectId object, std::size_t number, std::size_t site, std::size_t stack) {
    Event event;
    event.time_ns = 100 * number;
    event.object = object;
    event.site = sites_[site];
    event.thread = threads_[object.index() % threads_.size()];
    event.stack = stacks_[stack % kStacks];
    event.after_source = CountSource::derived;
    return event;
  }

  ObjectId birth(std::size_t number) {
    Object object;
    object.address = 0x5555'0000'0000 + 64 * (next_++ % (8 * kAlive));
    object.family = FamilyId(std::size_t{0});
    object.size = 48;
    const ObjectId id = state.history.add_object(object);
    Event born = event(id, number, 0, id.index() % 20);
    born.role = Role::init;
    born.after = 1;
    state.history.set_born(id, state.history.add_event(born));
    state.history.object(id).ledger = 1;
    return id;
  }

  void change(ObjectId id, std::size_t count, std::size_t number) {
    const bool get = count % 2 == 1 && count + 1 < kEventsPerObject;
    Object& object = state.history.object(id);
    Event changed = event(id, number, get ? 1 : 2, id.index() * 7 + count);
    changed.role = get ? Role::get : Role::put;
    changed.before = object.ledger;
    object.ledger += get ? 1 : -1;
    changed.after = object.ledger;
    const EventId at = state.history.add_event(changed);
    Object& now = state.history.object(id);
    if (now.ledger > 0) return;
    now.state = ObjectState::dead;
    now.died = at;
  }

  std::vector<SiteId> sites_;
  std::vector<StackId> stacks_;
  std::vector<ThreadIndex> threads_;
  std::size_t next_ = 0;
};

/// Median microseconds for one object's whole history.
double ask_histories(const History& history) {
  std::mt19937_64 random(2);
  std::vector<double> times;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < kQuestions; ++i) {
    const double begin = now();
    for (const EventId id : history.events_of(ObjectId(random() % history.objects().size())))
      seen += history.event(id).stack.valid() ? 1 : 0;
    times.push_back(1e6 * (now() - begin));
  }
  if (seen == 0) std::abort();
  std::nth_element(times.begin(), times.begin() + kQuestions / 2, times.end());
  return times[kQuestions / 2];
}

double ask_leaks(SessionState& state, std::size_t& groups) {
  const double begin = now();
  groups = LeakFinder(state.history, state.sites, state.families, state.namer).find({}).size();
  return now() - begin;
}

void insert_rows(Database& file, const History& history) {
  Statement row = file.prepare("INSERT INTO events VALUES(?,?,?,?,?,?,?,?,?)");
  for (std::size_t i = 0; i < history.event_count(); ++i) {
    const Event event = history.event(EventId(i));
    row.row(i, event.time_ns, event.object, static_cast<std::uint32_t>(event.role), event.site, event.thread,
            event.stack, event.before, event.after);
  }
}

void measure_rows(const History& history, const std::string& path) {
  std::filesystem::remove(path);
  const double begin = now();
  Database file = Database::create(path);
  file.run(
      "CREATE TABLE events(seq INTEGER PRIMARY KEY, time, object, role, site, thread, stack, before, after)");
  insert_rows(file, history);
  file.run("CREATE INDEX by_object ON events(object)");
  file.close();
  const double written = now() - begin;
  const Database opened = Database::read(path);
  Statement ask = opened.prepare("SELECT * FROM events WHERE object=? ORDER BY seq");
  std::mt19937_64 random(2);
  std::vector<double> times;
  for (std::size_t i = 0; i < kQuestions; ++i) {
    const double from = now();
    ask.ask(static_cast<std::int64_t>(random() % history.objects().size()));
    while (ask.next()) continue;
    times.push_back(1e6 * (now() - from));
  }
  std::nth_element(times.begin(), times.begin() + kQuestions / 2, times.end());
  const auto bytes = std::filesystem::file_size(path);
  fmt::print(
      "  plain rows with an index: written in {:.2f} s, {:.1f} bytes an event; one object's events {:.0f} "
      "us\n",
      written, static_cast<double>(bytes) / static_cast<double>(history.event_count()),
      times[kQuestions / 2]);
  std::filesystem::remove(path);
}

void measure(std::size_t events, bool rows, const std::string& folder) {
  MadeUpSession session;
  const double begin = now();
  session.fill(events);
  const double filled = now() - begin;
  const History& history = session.state.history;
  const auto count = static_cast<double>(history.event_count());
  fmt::print("{} million events of {} objects (appended in {:.2f} s)\n", count / 1e6,
             history.objects().size(), filled);
  fmt::print("  in memory {:.1f} bytes an event ({:.1f} of them events and stacks)\n",
             static_cast<double>(history.bytes()) / count,
             static_cast<double>(history.log().bytes() + history.stacks().bytes()) / count);
  std::size_t groups = 0;
  const double asked = ask_histories(history);
  const double leaks = ask_leaks(session.state, groups);
  fmt::print("  one object's history {:.0f} us, list of leaks {:.2f} s ({} groups)\n", asked, leaks, groups);

  const std::string path = folder + "/history.rh";
  const double save_begin = now();
  const auto written = SessionWriter(session.state, SessionWriter::Events::packed).write(path);
  fmt::print("  saved in {:.2f} s, {:.1f} bytes an event", now() - save_begin,
             static_cast<double>(written.bytes) / count);
  SessionState opened;
  const double open_begin = now();
  SessionReader(path).open(opened);
  fmt::print("; opened in {:.2f} s", now() - open_begin);
  fmt::print(", then one object's history {:.0f} us\n", ask_histories(opened.history));
  std::filesystem::remove(path);
  if (rows) measure_rows(history, folder + "/rows.db");
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes;
  std::size_t most_rows = 10'000'000;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--rows" && i + 1 < argc) {
      most_rows = std::strtoull(argv[++i], nullptr, 10);
    } else {
      sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    }
  }
  if (sizes.empty()) sizes = {1'000'000, 10'000'000, 100'000'000};
  std::string folder = (std::filesystem::temp_directory_path() / "refhist-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  for (const std::size_t events : sizes) measure(events, events <= most_rows, folder);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("most memory of this process: {:.2f} GiB\n", static_cast<double>(usage.ru_maxrss) / (1 << 20));
  std::filesystem::remove_all(folder);
  return 0;
}
