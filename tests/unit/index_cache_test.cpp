// Indexes of debug information that are kept in files: the same answers from them, and nothing from damaged
// ones.
#include "symbols/index_cache.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fixture_program.h"
#include "symbols/module.h"

namespace refhist {

namespace {

namespace fs = std::filesystem;

/// A folder for kept indexes, gone at the end.
class OwnCache {
 public:
  OwnCache() {
    const char* before = std::getenv("XDG_CACHE_HOME");
    before_ = before == nullptr ? "" : before;
    std::string path = fs::temp_directory_path() / "refhist-cache-XXXXXX";
    folder_ = ::mkdtemp(path.data());
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~OwnCache() {
    if (before_.empty()) {
      ::unsetenv("XDG_CACHE_HOME");
    } else {
      ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    }
    fs::remove_all(folder_);
  }
  OwnCache(const OwnCache&) = delete;
  OwnCache& operator=(const OwnCache&) = delete;

  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (!fs::exists(folder_ / "refhist")) return found;
    for (const auto& entry : fs::directory_iterator(folder_ / "refhist")) found.push_back(entry.path());
    return found;
  }

 private:
  std::string before_;
  fs::path folder_;
};

/// What the module tells of its types and inlined copies.
std::vector<std::string> answers(const std::string& path) {
  const auto module = Module::open(path);
  std::vector<std::string> all = module->inlined_functions();
  for (const std::string& name : std::vector<std::string>(all)) {
    for (const InlinedCopy& copy : module->inlined_copies(name))
      all.push_back(name + " " + std::to_string(copy.address) + " " + copy.into + " " +
                    std::to_string(copy.line));
    if (const auto signature = module->inlined_signature(name))
      all.push_back(name + " " + signature->result_pointee);
  }
  const auto place = module->member("std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>", "_M_use_count");
  all.push_back(place ? std::to_string(place->offset) : "no counter");
  return all;
}

std::string smart_pointers() { return test::build_fixture("../../sessions/shared_pointers.cpp", "-g -O2"); }

/// Bytes of memory that /proc/self/status tells of.
std::uint64_t memory(const std::string& word) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(word)) return std::stoull(line.substr(word.size())) << 10;
  }
  return 0;
}

std::uint64_t memory_now() { return memory("VmRSS:"); }
std::uint64_t most_memory() { return memory("VmHWM:"); }

bool forget_most_memory() {
  std::ofstream file("/proc/self/clear_refs");
  file << 5 << std::flush;
  return file.good();
}

void overwrite(const fs::path& path, std::size_t at, char byte) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

}  // namespace

TEST_CASE("an index that was kept gives the same answers") {
  const OwnCache cache;
  const std::string program = smart_pointers();
  const std::vector<std::string> first = answers(program);
  REQUIRE(cache.files().size() == 2);
  CHECK(first.size() > 500);
  CHECK(first.back() == "8");
  CHECK(answers(program) == first);
}

TEST_CASE("a damaged kept index is made again") {
  const OwnCache cache;
  const std::string program = smart_pointers();
  const std::vector<std::string> first = answers(program);
  for (const fs::path& path : cache.files()) {
    const auto size = fs::file_size(path);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{9}, std::size_t{33}, static_cast<std::size_t>(size / 2)})
      overwrite(path, at, '\x5a');
    CHECK(answers(program) == first);
    fs::resize_file(path, size / 3);
    CHECK(answers(program) == first);
    fs::resize_file(path, 5);
    CHECK(answers(program) == first);
    CHECK(fs::file_size(path) == size);
  }
}

TEST_CASE("another file with the build-id of one whose index is kept has its own") {
  const OwnCache cache;
  const std::string program = smart_pointers();
  answers(program);
  const std::string copy = program + ".copy";
  fs::copy_file(program, copy, fs::copy_options::overwrite_existing);
  answers(copy);
  fs::remove(copy);
  CHECK(cache.files().size() == 4);
}

TEST_CASE("indexes are not kept when that is switched off, or nowhere to be kept") {
  const OwnCache cache;
  const std::string program = smart_pointers();
  keep_indexes(false);
  const std::vector<std::string> first = answers(program);
  keep_indexes(true);
  CHECK(cache.files().empty());
  ::setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  CHECK(answers(program) == first);
}

TEST_CASE("an index is not kept while files of the debug information are missing") {
  const OwnCache cache;
  // Static: a small program's index is not kept anyway.
  const std::string program =
      test::build_fixture("../../data/discover_inlined.c", "-g -O2 -gsplit-dwarf -static");
  const std::string missing = Module::open(program)->missing_debug_info();
  REQUIRE(missing.empty());
  std::vector<fs::path> split;
  for (const auto& entry : fs::directory_iterator(fs::path(program).parent_path())) {
    if (entry.path().extension() == ".dwo") split.push_back(entry.path());
  }
  REQUIRE_FALSE(split.empty());
  const auto move = [&](const char* from, const char* to) {
    for (const fs::path& path : split) fs::rename(path.string() + from, path.string() + to);
  };
  move("", ".away");
  const auto without = Module::open(program);
  CHECK(without->inlined_copies("item_ref").empty());
  CHECK(without->missing_debug_info().ends_with(" was not found"));
  CHECK(cache.files().empty());
  move(".away", "");
  CHECK_FALSE(Module::open(program)->inlined_copies("item_ref").empty());
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("making an index takes at most twice the memory that it has") {
  const OwnCache cache;
  const auto module = Module::open("/proc/self/exe");
  REQUIRE(module->has_debug_info());
  const std::uint64_t before = memory_now();
  REQUIRE(forget_most_memory());
  CHECK(module->type_size("refhist::Object").has_value());
  const std::uint64_t taken = most_memory() - before;
  REQUIRE(cache.files().size() == 1);
  const std::uint64_t kept = fs::file_size(cache.files().front());
  constexpr std::uint64_t kPages = std::uint64_t{48}
                                   << 20;  // of the program's file, before they are given back
  CHECK(kept > kPages / 4);
  INFO("taken ", taken >> 20, " MB, kept ", kept >> 20, " MB");
  CHECK(taken < 2 * kept + kPages);
}
#endif

TEST_CASE("tables of a file") {
  const std::array<std::uint64_t, 3> numbers{1, 2, 3};
  const std::array<char, 5> letters{'a', 'b', 'c', 'd', 'e'};
  const std::array<std::span<const std::byte>, 3> all{
      std::as_bytes(std::span(numbers)), std::as_bytes(std::span(letters)), {}};
  const TableFile made(7, 1, all, nullptr);
  std::string path = fs::temp_directory_path() / "refhist-tables-XXXXXX";
  REQUIRE(::close(::mkstemp(path.data())) == 0);
  REQUIRE(made.save(path));
  const TableFile read = TableFile::open(path, 7, 1);
  REQUIRE_FALSE(read.empty());
  CHECK(read.table<std::uint64_t>(0)[2] == 3);
  CHECK(read.text(1, 1, 3) == "bcd");
  CHECK(read.text(1, 4, 2).empty());
  CHECK(read.text(1, ~std::uint64_t{0}, 2).empty());
  CHECK(read.table<char>(2).empty());
  CHECK(read.table<char>(3).empty());
  CHECK(TableFile::open(path, 7, 2).empty());
  CHECK(TableFile::open(path, 8, 1).empty());
  CHECK(TableFile::open(path + ".not", 7, 1).empty());
  fs::remove(path);
}

}  // namespace refhist
