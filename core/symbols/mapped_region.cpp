#include "symbols/mapped_region.h"

#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "port/process_memory.h"

namespace refhist {

namespace {

bool parse(const std::string& line, MappedRegion& region) {
  unsigned long begin = 0;
  unsigned long end = 0;
  unsigned long offset = 0;
  unsigned long inode = 0;
  unsigned device_major = 0;
  unsigned device_minor = 0;
  char access[5] = {};
  int path_at = 0;
  if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %x:%x %lu %n", &begin, &end, access, &offset, &device_major,
                  &device_minor, &inode, &path_at) < 7) {
    return false;
  }
  region.begin = begin;
  region.end = end;
  region.readable = access[0] == 'r';
  region.writable = access[1] == 'w';
  region.executable = access[2] == 'x';
  region.file_offset = offset;
  region.device = makedev(device_major, device_minor);
  region.inode = inode;
  region.path = line.substr(static_cast<std::size_t>(path_at));
  static constexpr std::string_view kDeleted = " (deleted)";
  region.deleted = inode != 0 && region.path.ends_with(kDeleted);
  if (region.deleted) region.path.resize(region.path.size() - kDeleted.size());
  return true;
}

}  // namespace

std::vector<MappedRegion> read_mapped_regions(long pid) {
  std::ifstream maps("/proc/" + std::to_string(task_with_memory(pid)) + "/maps");
  std::vector<MappedRegion> regions;
  for (std::string line; std::getline(maps, line);) {
    MappedRegion region;
    if (parse(line, region)) regions.push_back(std::move(region));
  }
  return regions;
}

std::vector<MemoryRegion> read_proc_maps(long pid) {
  std::vector<MappedRegion> regions = read_mapped_regions(pid);
  return {std::make_move_iterator(regions.begin()), std::make_move_iterator(regions.end())};
}

}  // namespace refhist
