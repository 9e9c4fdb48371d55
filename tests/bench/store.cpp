// What a history takes in memory and in a file, and how long questions take: store [EVENTS…] (default 1, 10
// and 100 million), beside plain rows of SQLite (up to --rows EVENTS, default 10 million); with --bounded
// EVENTS what `refhist set keep live` makes of so many.
//
// The history is made up (support/made_up_session.h), with a thousand objects at a time.
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
#include "reports/history_report.h"
#include "session/history_folder.h"
#include "session/session_state.h"
#include "store/session_reader.h"
#include "store/session_writer.h"
#include "support/made_up_session.h"

namespace {

using namespace refhist;

constexpr std::size_t kAlive = 1000;
constexpr std::size_t kQuestions = 1000;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Median microseconds for one object's whole history.
double ask_histories(const History& history) {
  std::mt19937_64 random(2);
  std::vector<double> times;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < kQuestions; ++i) {
    ObjectId object(random() % history.objects().size());
    while (!history.objects().contains(object)) object = ObjectId(random() % history.objects().size());
    const double begin = now();
    for (const EventId id : history.some_events_of(object, kListedEvents).listed)
      seen += history.event(id).stack.valid() ? 1 : 0;
    times.push_back(1e6 * (now() - begin));
  }
  if (seen == 0) std::abort();
  std::nth_element(times.begin(), times.begin() + kQuestions / 2, times.end());
  return times[kQuestions / 2];
}

double ask_leaks(SessionState& state, std::size_t& groups) {
  const double begin = now();
  groups = LeakFinder(state.history, state.sites, state.families, state.namer, state.folded).find({}).size();
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
  session.fill(events, kAlive);
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

/// Many events on a million objects that live at a time, with the dead folded: `refhist set keep live`.
void measure_bounded(std::size_t events, const std::string& folder) {
  const std::size_t alive = std::min<std::size_t>(1'000'000, events / 20);
  MadeUpSession session;
  SessionState& state = session.state;
  state.keep = Keep::live;
  HistoryFolder folder_of_history(state);
  std::size_t most = 0;
  std::size_t made = 0;
  const double begin = now();
  session.fill(events, alive, [&] {
    if (++made % (1U << 16U) != 0) return;
    folder_of_history.fold_when_due();
    most = std::max(most, state.memory());
  });
  fmt::print("{} million events on {} objects at a time, keep live (in {:.1f} s, {:.0f} ns an event)\n",
             static_cast<double>(events) / 1e6, alive, now() - begin,
             1e9 * (now() - begin) / static_cast<double>(events));
  fmt::print(
      "  at most {:.2f} GiB of memory, {:.2f} bytes an event; {} objects folded, {} of {} events listed\n",
      static_cast<double>(most) / (1U << 30U), static_cast<double>(most) / static_cast<double>(events),
      state.folded.objects(), state.history.log().kept(), state.history.event_count());
  std::size_t groups = 0;
  const double asked = ask_histories(state.history);
  const double leaks = ask_leaks(state, groups);
  fmt::print("  one object's history {:.0f} us, list of leaks {:.2f} s ({} groups)\n", asked, leaks, groups);
  const std::string path = folder + "/bounded.rh";
  const double save_begin = now();
  const auto written = SessionWriter(state, SessionWriter::Events::packed).write(path);
  fmt::print("  saved in {:.2f} s, {:.1f} MiB\n", now() - save_begin,
             static_cast<double>(written.bytes) / 1048576);
  std::filesystem::remove(path);
}

void print_most_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("most memory of this process: {:.2f} GiB\n", static_cast<double>(usage.ru_maxrss) / (1 << 20));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> sizes;
  std::size_t most_rows = 10'000'000;
  std::size_t bounded = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--rows" && i + 1 < argc) {
      most_rows = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::string(argv[i]) == "--bounded" && i + 1 < argc) {
      bounded = std::strtoull(argv[++i], nullptr, 10);
    } else {
      sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    }
  }
  if (sizes.empty() && bounded == 0) sizes = {1'000'000, 10'000'000, 100'000'000};
  std::string folder = (std::filesystem::temp_directory_path() / "refhist-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  for (const std::size_t events : sizes) measure(events, events <= most_rows, folder);
  if (bounded != 0) measure_bounded(bounded, folder);
  print_most_memory();
  std::filesystem::remove_all(folder);
  return 0;
}
