#include "symbols/mapped_region.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>

#include "port/process_memory.h"

namespace refhist {

namespace {

/// The next word as a number, and what ends it passed.
std::uint64_t number(std::string_view& line, int base = 16) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, base);
  line.remove_prefix(std::min(line.size(), static_cast<std::size_t>(end - line.data()) + 1));
  return error == std::errc() ? value : 0;
}

/// "7f0-7f1 r-xp 0 fe:01 12  /lib/x.so"
bool parse(std::string_view line, MappedRegion& region) {
  constexpr std::size_t kRights = 5;  // with the blank behind them
  region.begin = number(line);
  region.end = number(line);
  if (region.end <= region.begin || line.size() < kRights) return false;
  region.readable = line[0] == 'r';
  region.writable = line[1] == 'w';
  region.executable = line[2] == 'x';
  line.remove_prefix(kRights);
  region.file_offset = number(line);
  const std::uint64_t device_major = number(line);
  const std::uint64_t device_minor = number(line);
  region.device = makedev(static_cast<unsigned>(device_major), static_cast<unsigned>(device_minor));
  region.inode = number(line, 10);
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
  region.path = line;
  static constexpr std::string_view kDeleted = " (deleted)";
  region.deleted = region.inode != 0 && region.path.ends_with(kDeleted);
  if (region.deleted) region.path.resize(region.path.size() - kDeleted.size());
  return true;
}

}  // namespace

bool MappedRegion::operator==(const MappedRegion& other) const {
  const auto members = [](const MappedRegion& r) {
    return std::tie(r.begin, r.end, r.readable, r.writable, r.executable, r.file_offset, r.device, r.inode,
                    r.deleted, r.path);
  };
  return members(*this) == members(other);
}

std::string read_maps_text(long pid) {
  std::ifstream maps("/proc/" + std::to_string(task_with_memory(pid)) + "/maps");
  std::string text;
  std::array<char, 1U << 16U> part{};
  while (maps.read(part.data(), part.size()) || maps.gcount() != 0)
    text.append(part.data(), static_cast<std::size_t>(maps.gcount()));
  return text;
}

std::vector<MappedRegion> parse_mapped_regions(const std::string& maps) {
  std::vector<MappedRegion> regions;
  std::string_view rest(maps);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    MappedRegion region;
    if (parse(rest.substr(0, end), region)) regions.push_back(std::move(region));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return regions;
}

std::vector<MappedRegion> read_mapped_regions(long pid) { return parse_mapped_regions(read_maps_text(pid)); }

std::vector<MemoryRegion> read_proc_maps(long pid) {
  std::vector<MappedRegion> regions = read_mapped_regions(pid);
  return {std::make_move_iterator(regions.begin()), std::make_move_iterator(regions.end())};
}

}  // namespace refhist
