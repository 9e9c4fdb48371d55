// /proc/PID/maps of a local process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "port/debugger_port.h"

namespace refhist {

/// A line of /proc/PID/maps with what identifies the file behind it.
struct MappedRegion : MemoryRegion {
  std::uint64_t device = 0;  ///< as stat gives it
  std::uint64_t inode = 0;   ///< 0: no file
  bool deleted = false;      ///< the file has no name any more; `path` is the one that it had

  bool operator==(const MappedRegion& other) const;
};

std::vector<MappedRegion> read_mapped_regions(long pid);
/// The two steps of it: the text, and what it says.
std::string read_maps_text(long pid);
std::vector<MappedRegion> parse_mapped_regions(const std::string& maps);

/// Regions of a local process from /proc/PID/maps; none when the process is gone.
std::vector<MemoryRegion> read_proc_maps(long pid);

}  // namespace refhist
