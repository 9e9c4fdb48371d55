// What a history takes in memory and in a file, and how long questions take. Prints lines "name figure",
// which store.py makes tables of:
//
//     bench_store EVENTS            the whole history
//     bench_store --rows EVENTS     and the same as plain rows of SQLite
//     bench_store --bounded EVENTS  what `refhist set keep live` makes of so many
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
#include <string_view>
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

/// A line of the output.
void tell(std::string_view name, double figure) { fmt::print("{} {:.9g}\n", name, figure); }

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

void ask(SessionState& state) {
  tell("history_us", ask_histories(state.history));
  const double begin = now();
  const auto groups = state.leak_finder().find({});
  tell("leaks_s", now() - begin);
  tell("leak_groups", static_cast<double>(groups.size()));
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
  tell("rows_s", now() - begin);
  const Database opened = Database::read(path, std::filesystem::file_size(path));
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
  tell("rows_bytes",
       static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(history.event_count()));
  tell("rows_history_us", times[kQuestions / 2]);
  std::filesystem::remove(path);
}

void measure(std::size_t events, bool rows, const std::string& folder) {
  MadeUpSession session;
  const double begin = now();
  session.fill(events, kAlive);
  tell("append_s", now() - begin);
  const History& history = session.state.history;
  const auto count = static_cast<double>(history.event_count());
  tell("objects", static_cast<double>(history.objects().size()));
  tell("bytes", static_cast<double>(history.bytes()) / count);
  tell("log_bytes", static_cast<double>(history.log().bytes() + history.stacks().bytes()) / count);
  ask(session.state);

  const std::string path = folder + "/history.rh";
  const double save_begin = now();
  const auto written = SessionWriter(session.state, SessionWriter::Events::packed).write(path);
  tell("save_s", now() - save_begin);
  tell("file_bytes", static_cast<double>(written.bytes) / count);
  SessionState opened;
  const double open_begin = now();
  SessionReader(path).open(opened);
  tell("open_s", now() - open_begin);
  tell("opened_history_us", ask_histories(opened.history));
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
  tell("event_ns", 1e9 * (now() - begin) / static_cast<double>(events));
  tell("alive", static_cast<double>(alive));
  tell("bytes", static_cast<double>(most) / static_cast<double>(events));
  tell("folded", static_cast<double>(state.folded.objects()));
  tell("listed", static_cast<double>(state.history.log().kept()));
  ask(state);
  const std::string path = folder + "/bounded.rh";
  const double save_begin = now();
  const auto written = SessionWriter(state, SessionWriter::Events::packed).write(path);
  tell("save_s", now() - save_begin);
  tell("file_mib", static_cast<double>(written.bytes) / 1048576);
  std::filesystem::remove(path);
}

void tell_most_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  tell("process_gib", static_cast<double>(usage.ru_maxrss) / (1 << 20));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc == 3 ? argv[1] : "";
  const std::size_t events = argc < 2 ? 0 : std::strtoull(argv[argc - 1], nullptr, 10);
  if (argc > 3 || events == 0 || (argc == 3 && how != "--rows" && how != "--bounded")) {
    fmt::print(stderr, "usage: bench_store [--rows | --bounded] EVENTS\n");
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "refhist-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  if (how == "--bounded") {
    measure_bounded(events, folder);
  } else {
    measure(events, how == "--rows", folder);
  }
  tell_most_memory();
  std::filesystem::remove_all(folder);
  return 0;
}
