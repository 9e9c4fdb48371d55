// Damaged and hostile history files: whatever stands in one, reading it ends with an Error or with reports,
// never with a crash. The input says what is changed in which good file (of REFHIST_FUZZ_BASE, A:B).
#include <fmt/core.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "facade/session.h"
#include "fuzz_input.h"
#include "runner/no_debugger.h"
#include "store/page_codec.h"
#include "store/schema.h"

namespace {

using namespace refhist;

const std::vector<std::uint8_t>& base(std::size_t number) {
  static const std::vector<std::vector<std::uint8_t>> files = [] {
    const char* paths = std::getenv("REFHIST_FUZZ_BASE");
    if (paths == nullptr) std::abort();
    std::vector<std::vector<std::uint8_t>> read;
    for (const std::string& path : split(paths, ':')) read.push_back(bytes_of_file(path));
    return read;
  }();
  return files[number % files.size()];
}

/// "bias" of " bias INTEGER", as kTables declares it.
std::string column_name(std::string_view declared) {
  declared = trim(declared);
  return std::string(declared.substr(0, declared.find(' ')));
}

/// A writable file of somebody who means no good.
class Vandal {
 public:
  explicit Vandal(const std::string& path) : path_(path) { sqlite3_open(path.c_str(), &database_); }
  ~Vandal() { sqlite3_close(database_); }
  Vandal(const Vandal&) = delete;
  Vandal& operator=(const Vandal&) = delete;

  void change(FuzzInput& input) {
    const std::uint8_t kind = input.byte();
    if (kind >= kAmounts) return kind % 2 == 0 ? multiply(input) : deepen(input);
    const Table& table = kTables[input.byte() % kTables.size()];
    const std::vector<std::string> columns = split(table.columns, ',');
    const std::string column = column_name(columns[input.byte() % columns.size()]);
    const std::uint64_t row = input.byte();
    const std::string where =
        fmt::format("WHERE rowid=(SELECT rowid FROM {} LIMIT 1 OFFSET {})", table.name, row);
    const std::string meta = fmt::format("WHERE key=(SELECT key FROM meta LIMIT 1 OFFSET {})", row);
    const std::string& which = table.name == "meta" ? meta : where;
    switch (kind % 8) {
      case 0:
        return run(fmt::format("UPDATE {} SET {}={} {}", table.name, column,
                               static_cast<std::int64_t>(input.number(8)), which));
      case 1:
        return run(fmt::format("UPDATE {} SET {}={} {}", table.name, column, input.number(1), which));
      case 2:
        return run(fmt::format("UPDATE {} SET {}=NULL {}", table.name, column, which));
      case 3:
        return run(fmt::format("UPDATE {} SET {}=CAST(x'{:016x}' AS TEXT) {}", table.name, column,
                               input.number(8), which));
      case 4:
        return run(fmt::format("DELETE FROM {} {}", table.name, which));
      case 5:
        return run(fmt::format("UPDATE {0} SET {1}=(SELECT {1} FROM {0} LIMIT 1 OFFSET {2}) {3}", table.name,
                               column, input.byte(), which));
      case 6:
        return damage_page(input);
      default:
        return run(input.byte() % 2 == 0 ? fmt::format("DROP TABLE {}", table.name)
                                         : fmt::format("PRAGMA user_version={}", input.number(2)));
    }
  }

 private:
  static constexpr std::uint8_t kAmounts = 224;  // kinds from here on change how much there is, not what
  /// Enough for what grows with the square, or calls itself once a row, to be seen; more makes an input slow
  /// and finds nothing.
  static constexpr int kMostRows = 512;
  static constexpr std::uint64_t kDeepest = 1 << 14;

  /// The rows of a table once more, and again, under numbers of their own.
  void multiply(FuzzInput& input) {
    const Table& table = kTables[1 + input.byte() % (kTables.size() - 1)];  // not `meta`, which has names
    std::string others;
    const std::vector<std::string> columns = split(table.columns, ',');
    for (std::size_t i = 1; i < columns.size(); ++i) others += ", " + column_name(columns[i]);
    for (int times = input.byte() % 8; times >= 0; --times)
      run(fmt::format("INSERT INTO {0} SELECT {1} + 1 + (SELECT max({1}) FROM {0}){2} FROM {0} LIMIT {3}",
                      table.name, column_name(columns.front()), others, kMostRows));
  }

  /// One of the origins has a stack of so many frames.
  void deepen(FuzzInput& input) {
    const std::uint64_t depth = 1 + input.number(2) % kDeepest;
    run(
        fmt::format("WITH RECURSIVE steps(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM steps WHERE i < {}), "
                    "old(most) AS (SELECT max(id) FROM stacks) "
                    "INSERT INTO stacks SELECT most + i, most + i - 1, {}, 0 FROM steps, old",
                    depth, input.byte()));
    run(fmt::format("UPDATE origins SET stack=(SELECT max(id) FROM stacks) WHERE id={}", input.byte()));
  }

  void run(const std::string& sql) { sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr); }

  /// Of the events themselves, so that they still unpack.
  void damage_page(FuzzInput& input) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(database_, "SELECT data FROM event_pages LIMIT 1", -1, &statement, nullptr);
    std::vector<std::uint8_t> page;
    if (sqlite3_step(statement) == SQLITE_ROW) {
      const auto* data = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement, 0));
      try {
        page =
            PageCodec::unpack({data, static_cast<std::size_t>(sqlite3_column_bytes(statement, 0))}, 1 << 16);
      } catch (const Error&) {
      }
    }
    sqlite3_finalize(statement);
    if (page.empty()) return;
    for (int i = input.byte() % 8; i >= 0; --i) page[input.number(2) % page.size()] = input.byte();
    if (input.byte() % 8 == 0) page.resize(page.size() / 2);
    PageCodec codec;
    const auto packed = codec.pack(page);
    sqlite3_prepare_v2(database_, "UPDATE event_pages SET data=? WHERE page=0", -1, &statement, nullptr);
    sqlite3_bind_blob(statement, 1, packed.data(), static_cast<int>(packed.size()), SQLITE_STATIC);
    sqlite3_step(statement);
    sqlite3_finalize(statement);
  }

  std::string path_;
  sqlite3* database_ = nullptr;
};

void write_damaged(const std::string& path, FuzzInput& input) {
  const std::uint8_t which = input.byte();
  std::vector<std::uint8_t> bytes = base(which / 4);
  const bool raw = which % 4 == 0;
  for (int i = raw ? input.byte() % 16 : -1; i >= 0; --i)
    bytes[input.number(3) % bytes.size()] = input.byte();
  if (raw && input.byte() % 4 == 0) bytes.resize(input.number(3) % bytes.size());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (raw) return;
  Vandal vandal(path);
  for (int i = 0; i < 12 && input.left(); ++i) vandal.change(input);
}

constexpr std::string_view kCommands[] = {"status",
                                          "status --sites",
                                          "status --json",
                                          "objects --all",
                                          "objects --all --json",
                                          "leaks",
                                          "leaks --reachable",
                                          "leaks --stacks full --reachable",
                                          "leaks --json --reachable",
                                          "usage",
                                          "usage --json",
                                          "balance *",
                                          "balance * --json",
                                          "diff",
                                          "diff --json",
                                          "snapshot --list",
                                          "check --stay --reachable",
                                          "check --stay --json",
                                          "owners 0x1",
                                          "show",
                                          "help"};
/// They fold what was read.
constexpr std::string_view kAtTheEnd[] = {"set keep suspect", "leaks", "usage", "objects --all", "status"};
constexpr std::array<std::string_view, 6> kFormats{"json", "junit", "sarif", "html", "folded", "sqlite"};

/// "0x55…" of each object that a list begins a line with.
std::vector<std::string> addresses(const std::string& list) {
  std::vector<std::string> found;
  for (std::size_t at = list.find(" 0x"); at != std::string::npos; at = list.find(" 0x", at + 1))
    found.push_back(list.substr(at + 1, list.find_first_of(" :,(\n", at + 1) - at - 1));
  return found;
}

/// What anybody may type about it. Each command stands alone: one that fails says nothing of the next.
void read_all(const std::string& path) {
  constexpr std::size_t kObjects = 6;
  Session session({});
  NoDebugger port;
  if (!session.execute(port, "open " + path).ok) return;
  for (const std::string_view command : kCommands) session.execute(port, command);
  std::vector<std::string> objects = addresses(session.execute(port, "objects --all").text);
  objects.resize(std::min(objects.size(), kObjects));
  for (const std::string& address : objects) {
    session.execute(port, address + " --all --stacks full");
    session.execute(port, address + " --json");
  }
  const std::string out = path + ".again";
  for (const std::string_view format : kFormats) {
    session.execute(port, fmt::format("export {} --format {}", out, format));
    unlink(out.c_str());
  }
  session.execute(port, "save " + out);
  for (const std::string_view command : kAtTheEnd) session.execute(port, command);
}

std::string scratch_path() {
  static const std::string path = fmt::format("/dev/shm/refhist-fuzz-{}", getpid());
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  write_damaged(scratch_path(), input);
  read_all(scratch_path());
  unlink(scratch_path().c_str());
  unlink((scratch_path() + ".again").c_str());
  return 0;
}
