#include "symbols/index_cache.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/folder_entries.h"

namespace refhist {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kWorthwhile = std::size_t{1} << 18;  // bytes of a file whose index takes some time
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;

std::atomic<bool> kept{true};

fs::path folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return fs::path(cache) / "refhist";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? fs::path(home) / ".cache" / "refhist" : fs::path();
}

void remove_oldest() {
  struct File {
    fs::file_time_type used;
    std::uintmax_t size;
    fs::path path;
  };
  std::vector<File> files;
  std::uintmax_t total = 0;
  std::error_code error;
  for (const fs::path& path : entries_of(folder())) {
    const std::uintmax_t size = fs::file_size(path, error);
    if (error) continue;
    files.push_back({fs::last_write_time(path, error), size, path});
    total += size;
  }
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total <= kMostBytes) return;
    if (fs::remove(file.path, error)) total -= file.size;
  }
}

bool keep_tables(const TableFile& tables, const std::string& path) {
  std::error_code error;
  const fs::path place = fs::path(path).parent_path();
  fs::create_directories(place.parent_path(), error);
  ::mkdir(place.c_str(), S_IRWXU);
  return tables.save(path);
}

std::size_t size_of(Elf* elf) {
  std::size_t size = 0;
  if (elf != nullptr) ::elf_rawfile(elf, &size);
  return size;
}

}  // namespace

bool keeps_indexes() { return kept; }

void keep_indexes(bool now) { kept = now; }

std::string index_file(const ElfFile& debug_file, Elf* alternative, std::string_view name) {
  const fs::path place = folder();
  struct stat status {};
  const bool known = kept && !debug_file.build_id().empty() && debug_file.contents().size() >= kWorthwhile &&
                     !place.empty() && ::stat(debug_file.path().c_str(), &status) == 0;
  if (!known) return {};
  // The same build-id with other debug information: installed anew, or compressed otherwise.
  const std::string version =
      fmt::format("{} {} {}.{:09} {}", debug_file.path(), status.st_size, status.st_mtim.tv_sec,
                  status.st_mtim.tv_nsec, size_of(alternative));
  return place / fmt::format("{}-{:016x}.{}", debug_file.build_id(),
                             XXH3_64bits(version.data(), version.size()), name);
}

TableFile kept_tables(const std::string& path, std::uint32_t kind, std::uint32_t version) {
  if (path.empty()) return {};
  TableFile tables = TableFile::open(path, kind, version);
  if (!tables.empty()) ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
  return tables;
}

TableFile kept_tables(const std::string& path, std::uint32_t kind, std::uint32_t version,
                      const std::function<TableFile()>& make, const std::function<bool()>& lasting) {
  if (TableFile tables = kept_tables(path, kind, version); !tables.empty()) return tables;
  TableFile tables = make();
  if (path.empty() || !lasting() || !keep_tables(tables, path)) return tables;
  // From the file only what is looked at takes memory.
  TableFile mapped = TableFile::open_own(path, kind, version);
  remove_oldest();
  return mapped.empty() ? tables : mapped;
}

}  // namespace refhist
