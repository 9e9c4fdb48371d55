#include "base/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "base/error.h"
#include "base/folder_entries.h"

namespace refhist {

namespace {

constexpr const char* kName = "refhist-run-";
constexpr std::time_t kNew = 60;  // seconds in which one may not be locked yet

int open_folder(const std::string& path) {
  return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool is_left(const OpenFile& folder) {
  struct stat found {};
  return folder.number() >= 0 && fstat(folder.number(), &found) == 0 && found.st_uid == geteuid() &&
         std::time(nullptr) - found.st_mtime > kNew && flock(folder.number(), LOCK_EX | LOCK_NB) == 0;
}

void remove_left(const std::filesystem::path& temporary) {
  for (const auto& entry : entries_of(temporary)) {
    std::error_code error;
    if (!entry.filename().string().starts_with(kName)) continue;
    if (is_left(OpenFile(open_folder(entry)))) std::filesystem::remove_all(entry, error);
  }
}

std::string make_folder() {
  std::error_code error;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(error);
  if (!error) remove_left(temporary);
  std::string pattern = (temporary / (std::string(kName) + "XXXXXX")).string();
  if (error || mkdtemp(pattern.data()) == nullptr) fail("no folder for temporary files: set TMPDIR");
  return pattern;
}

}  // namespace

ScratchFolder::ScratchFolder() : path_(make_folder()), lock_(open_folder(path_)) {
  flock(lock_.number(), LOCK_EX | LOCK_NB);
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace refhist
