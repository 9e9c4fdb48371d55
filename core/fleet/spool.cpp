#include "fleet/spool.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/error.h"
#include "base/replaced_file.h"
#include "base/text.h"
#include "base/text_hash.h"

namespace refhist {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestSpool = std::uint64_t{512} << 20;  // bytes, of one database
constexpr int kCompression = 3;
constexpr const char* kRecord = ".json";
constexpr const char* kHistory = ".rh.zst";

fs::path spool_root() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return fs::path(state) / "refhist/spool";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/')
    fail("there is no place for runs that wait to be sent: set XDG_STATE_HOME or HOME");
  return fs::path(home) / ".local/state/refhist/spool";
}

/// Stacks and arguments are the user's own.
std::string made_folder(const std::string& target) {
  const fs::path folder = spool_root() / TextHash().add(target).hex();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("{} cannot be made: {}", folder.string(), error.message());
  fs::permissions(folder, fs::perms::owner_all, error);
  return folder.string();
}

/// REFHIST_SPOOL_LIMIT, or what is usual.
std::uint64_t largest_spool() {
  const char* limit = std::getenv("REFHIST_SPOOL_LIMIT");
  return limit == nullptr ? kLargestSpool : parse_bytes(limit).value_or(kLargestSpool);
}

struct Entry {
  std::string path;
  std::uint64_t bytes = 0;
};

/// The names begin with a time, so that they sort by age.
std::vector<Entry> entries(const std::string& folder) {
  std::vector<Entry> all;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code gone;
    const std::uint64_t bytes = entry->file_size(gone);
    if (!gone && entry->path().filename() != "lock") all.push_back({entry->path().string(), bytes});
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
  return all;
}

std::string stem_of(const std::string& record) { return record.substr(0, record.rfind(kRecord)); }

void remove_file(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
}

void compress_file(const std::string& from, const std::string& to) {
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  const std::unique_ptr<ZSTD_CCtx, Free> context(ZSTD_createCCtx());
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kCompression);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::ifstream input(from, std::ios::binary);
  std::ofstream output(to, std::ios::binary);
  std::vector<char> read(ZSTD_CStreamInSize());
  std::vector<char> written(ZSTD_CStreamOutSize());
  for (bool last = false; !last;) {
    input.read(read.data(), static_cast<std::streamsize>(read.size()));
    last = !input;
    ZSTD_inBuffer in{read.data(), static_cast<std::size_t>(input.gcount()), 0};
    for (bool done = false; !done;) {
      ZSTD_outBuffer out{written.data(), written.size(), 0};
      const std::size_t left =
          ZSTD_compressStream2(context.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) fail("{} cannot be compressed: {}", from, ZSTD_getErrorName(left));
      output.write(written.data(), static_cast<std::streamsize>(out.pos));
      done = last ? left == 0 : in.pos == in.size;
    }
  }
  output.flush();
  if (!output || input.bad()) fail("{} could not be written", to);
}

}  // namespace

Spool::Spool(const std::string& target)
    : folder_(made_folder(target)),
      lock_(open((folder_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {}

void Spool::make_room(std::uint64_t bytes, std::vector<std::string>& told) const {
  const std::uint64_t most = largest_spool();
  std::vector<Entry> all = entries(folder_);
  std::uint64_t used = bytes;
  for (const Entry& entry : all) used += entry.bytes;
  std::size_t histories = 0;
  std::size_t runs = 0;
  const auto drop = [&](const Entry& entry, std::size_t& number) {
    remove_file(entry.path);
    used -= entry.bytes;
    ++number;
  };
  for (const bool records : {false, true}) {  // histories go first: runs are small, and tell more
    for (const Entry& entry : all) {
      if (used <= most) break;
      if (entry.path.ends_with(kHistory) != records) drop(entry, records ? runs : histories);
    }
  }
  if (histories != 0 || runs != 0)
    told.push_back(fmt::format(
        "{} and {} that waited to be sent were thrown away: {} is full ({})", plural(runs, "run"),
        histories == 1 ? "1 history" : fmt::format("{} histories", histories), folder_, bytes_text(most)));
}

std::string Spool::put(const std::string& record, const std::string& history,
                       std::vector<std::string>& told) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::string stem = fmt::format("{}/{:020}-{}", folder_, microseconds, getpid());
  if (!history.empty()) {
    ReplacedFile file(stem + kHistory);
    compress_file(history, file.unfinished());
    file.finish();
  }
  make_room(record.size(), told);
  replace_file(stem + kRecord, record);  // last: a history without its record is nobody's
  return stem + kRecord;
}

std::vector<std::string> Spool::records() const {
  std::vector<std::string> paths;
  for (const Entry& entry : entries(folder_)) {
    if (entry.path.ends_with(kRecord)) paths.push_back(entry.path);
  }
  return paths;
}

std::string Spool::history_of(const std::string& record) {
  const std::string path = stem_of(record) + kHistory;
  std::error_code error;
  return fs::is_regular_file(path, error) ? path : std::string();
}

bool Spool::is_there(const std::string& record) { return access(record.c_str(), F_OK) == 0; }

void Spool::remove(const std::string& record) {
  remove_file(record);
  remove_file(stem_of(record) + kHistory);
}

void Spool::refuse(const std::string& record) {
  std::error_code error;
  fs::rename(record, record + ".refused", error);
  remove_file(stem_of(record) + kHistory);
}

bool Spool::lock_backlog() { return lock_.number() >= 0 && flock(lock_.number(), LOCK_EX | LOCK_NB) == 0; }

}  // namespace refhist
