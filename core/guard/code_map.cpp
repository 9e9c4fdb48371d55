#include "guard/code_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace refhist::guard {

namespace {
constexpr std::uint64_t kPageBytes = 4096;

std::string whole_text(int file) {
  std::string text;
  lseek(file, 0, SEEK_SET);
  char bytes[4096];
  for (ssize_t size = 0; (size = read(file, bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(size));
  return text;
}

bool parse_line(const std::string& line, CodeRegion& region) {
  char rights[5] = {};
  int path_at = 0;
  const int found = std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64 " %n",
                                &region.begin, &region.end, rights, &region.offset, &region.inode, &path_at);
  if (found != 5 || rights[2] != 'x') return false;
  region.shared = rights[3] == 's';
  region.path = line.substr(static_cast<std::size_t>(path_at));
  return true;
}
}  // namespace

std::vector<CodeRegion> read_code_map(int maps) {
  const std::string text = whole_text(maps);
  std::vector<CodeRegion> regions;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    CodeRegion region;
    if (parse_line(text.substr(begin, end - begin), region)) regions.push_back(region);
    begin = end + 1;
  }
  return regions;
}

std::vector<std::uint64_t> CodeRegion::own_pages(int pagemap) const {
  constexpr std::uint64_t kPresentOrSwapped = std::uint64_t{3} << 62U;
  constexpr std::uint64_t kOfFile = std::uint64_t{1} << 61U;
  std::vector<std::uint64_t> entries((end - begin) / kPageBytes);
  const std::size_t bytes = entries.size() * sizeof entries[0];
  const auto at = static_cast<off_t>(begin / kPageBytes * sizeof entries[0]);
  std::vector<std::uint64_t> own;
  if (pread(pagemap, entries.data(), bytes, at) != static_cast<ssize_t>(bytes)) return own;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if ((entries[i] & kPresentOrSwapped) != 0 && (entries[i] & kOfFile) == 0)
      own.push_back(begin + i * kPageBytes);
  }
  return own;
}

int CodeRegion::open_file(long pid) const {
  char name[96];
  std::snprintf(name, sizeof name, "/proc/%ld/map_files/%" PRIx64 "-%" PRIx64, pid, begin, end);
  const int mapped = open(name, O_RDONLY | O_CLOEXEC);  // for root only, and whatever has become of its name
  if (mapped >= 0) return mapped;
  for (const std::string& there : {"/proc/" + std::to_string(pid) + "/root" + path, path}) {
    const int file = open(there.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status {};
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == inode)
      return file;
    if (file >= 0) close(file);
  }
  return -1;
}

}  // namespace refhist::guard
