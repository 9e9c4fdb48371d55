#include "heap/reachability_memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace refhist {

namespace {
// Bits of a /proc/PID/pagemap entry: the page is in memory, or in swap.
constexpr std::uint64_t kPresentOrSwapped = 3ULL << 62;
// Page entries read at once: 64 KiB, for 32 MiB of memory.
constexpr std::size_t kEntries = 8192;
// Below this, reading is cheaper than asking whether there is anything to read.
constexpr std::size_t kSmall = 64 << 10;
}  // namespace

ScanMemory::ScanMemory(DebuggerPort& port, const ProcessInfo& process, ScanProgress& progress)
    : memory_(port, process), progress_(progress), buffer_(kPiece / sizeof(Word)), flags_(kEntries) {
  if (process.local && process.pid != 0) {
    pagemap_ = open(fmt::format("/proc/{}/pagemap", process.pid).c_str(), O_RDONLY | O_CLOEXEC);
  }
}

ScanMemory::~ScanMemory() {
  if (pagemap_ >= 0) close(pagemap_);
}

bool ScanMemory::page_flags(Address page, std::size_t count) {
  const std::size_t size = count * sizeof(std::uint64_t);
  const auto offset = static_cast<off_t>(page / kPage * sizeof(std::uint64_t));
  return pread(pagemap_, flags_.data(), size, offset) == static_cast<ssize_t>(size);
}

std::vector<AddressRange> ScanMemory::populated(AddressRange range) {
  if (pagemap_ < 0) return {range};
  std::vector<AddressRange> parts;
  Address page = range.begin & ~Address{kPage - 1};
  while (page < range.end) {
    const std::size_t count = std::min<std::size_t>(kEntries, (range.end - page + kPage - 1) / kPage);
    const bool known = page_flags(page, count);
    for (std::size_t i = 0; i < count; ++i, page += kPage) {
      if (known && (flags_[i] & kPresentOrSwapped) == 0) continue;
      const AddressRange part{std::max(page, range.begin), std::min(page + kPage, range.end)};
      if (!parts.empty() && parts.back().end == part.begin) {
        parts.back().end = part.end;
      } else {
        parts.push_back(part);
      }
    }
    if (range.size() > kEntries * kPage) progress_.ask();
  }
  return parts;
}

void ScanMemory::fill(AddressRange range, Backing backing, Word* out) {
  std::memset(out, 0, range.size());
  auto* bytes = reinterpret_cast<char*>(out);
  std::vector<AddressRange> parts{range};
  if (backing != Backing::module && range.size() > kSmall) parts = populated(range);
  for (const AddressRange& part : parts) {
    const std::size_t got = memory_.read(part.begin, bytes + (part.begin - range.begin), part.size());
    if (got < part.size() && unreadable_ == 0) unreadable_ = part.begin + got;
  }
  progress_.add(range.size());
}

std::size_t ScanMemory::next_piece(AddressRange& range, Backing backing) {
  const std::size_t want = std::min<std::uint64_t>(kPiece, range.size());
  const std::size_t got = memory_.read(range.begin, buffer_.data(), want) & ~std::size_t{7};
  progress_.add(got);
  range.begin += got;
  if (got < want) {
    if (backing != Backing::file && unreadable_ == 0) unreadable_ = range.begin;
    range.begin = std::min((range.begin & ~Address{kPage - 1}) + kPage, range.end);
  }
  return got;
}

}  // namespace refhist
