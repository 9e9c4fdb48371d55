#include "symbols/file_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/types.h"
#include "symbols/mapped_region.h"

namespace refhist {

namespace {

/// Only of a file that nobody here can have changed in memory nothing is lost.
bool is_unchanged_file(Address begin, Address end) {
  const std::vector<MappedRegion> regions = read_mapped_regions(::getpid());
  return std::any_of(regions.begin(), regions.end(), [&](const MappedRegion& region) {
    return region.begin <= begin && end <= region.end && region.inode != 0 && !region.writable;
  });
}

}  // namespace

void let_go_of_pages(Elf* elf) {
  std::size_t size = 0;
  const char* bytes = elf == nullptr ? nullptr : ::elf_rawfile(elf, &size);
  const auto begin = reinterpret_cast<Address>(bytes);
  if (bytes == nullptr || size == 0 || begin % kPage != 0 || !is_unchanged_file(begin, begin + size)) return;
  ::madvise(const_cast<char*>(bytes), size, MADV_DONTNEED);
}

}  // namespace refhist
