#include "guard/mended_code.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace refhist::guard {

namespace {
constexpr std::uint8_t kBreakpoint = 0xcc;
constexpr std::uint8_t kJump = 0xe9;
constexpr std::uint64_t kJumpBytes = 5;
constexpr std::size_t kPageBytes = 4096;
// What Config::stop leads to, behind the nop that a breakpoint may cover: kStopCode of agent_loader.h.
constexpr std::uint8_t kNop = 0x90;
constexpr std::uint8_t kBehindNop[] = {0x31, 0xc0, 0xc3, 0xb8, 0x01, 0x00, 0x00, 0x00, 0xc3};

bool read_at(int file, std::uint64_t offset, void* out, std::size_t size) {
  return pread(file, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
}
}  // namespace

/// `jump`: five bytes, of which the first may be a breakpoint in place of the 0xe9.
bool MendedCode::leads_to_agent(std::uint64_t address, const std::uint8_t* jump) const {
  if (jump[0] != kJump && jump[0] != kBreakpoint) return false;
  std::int32_t distance = 0;
  std::memcpy(&distance, jump + 1, sizeof distance);
  const std::uint64_t target = address + kJumpBytes + static_cast<std::uint64_t>(std::int64_t{distance});
  return std::any_of(regions_.begin(), regions_.end(), [&](const CodeRegion& region) {
    return region.is_agent() && region.begin <= target && target < region.end;
  });
}

/// What belongs at `address` instead of the breakpoint: nothing where it is none but a byte of such a jump.
std::optional<std::uint8_t> MendedCode::original(std::uint64_t address, std::uint8_t in_file) const {
  constexpr std::uint64_t kBefore = kJumpBytes - 1;
  std::uint8_t around[kBefore + kJumpBytes] = {};
  if (!read_at(files_.memory, address - kBefore, around, sizeof around)) return in_file;
  for (std::uint64_t begin = 0; begin < kBefore; ++begin) {
    if (leads_to_agent(address - kBefore + begin, around + begin)) return std::nullopt;
  }
  return leads_to_agent(address, around + kBefore) ? kJump : in_file;
}

void MendedCode::look_at_page(std::uint64_t address, const std::uint8_t* file, std::size_t size) {
  std::uint8_t now[kPageBytes];
  if (!read_at(files_.memory, address, now, size)) return;
  for (std::size_t i = 0; i < size; ++i) {
    if (now[i] != kBreakpoint || file[i] == kBreakpoint) continue;
    if (const auto byte = original(address + i, file[i])) changes_.push_back({address + i, *byte});
  }
}

void MendedCode::look_at_module(const CodeRegion& region) {
  const std::vector<std::uint64_t> own = region.own_pages(files_.pages);
  if (own.empty()) return;
  const int file = region.open_file(pid_);
  if (file < 0) return;
  for (const std::uint64_t page : own) {
    std::uint8_t bytes[kPageBytes];
    const ssize_t size =
        pread(file, bytes, sizeof bytes, static_cast<off_t>(page - region.begin + region.offset));
    if (size > 0) look_at_page(page, bytes, static_cast<std::size_t>(size));
  }
  close(file);
}

void MendedCode::look_at_agent_stop(const CodeRegion& region) {
  std::uint8_t there[1 + sizeof kBehindNop];
  if (!read_at(files_.memory, region.begin, there, sizeof there) || there[0] != kBreakpoint) return;
  if (std::memcmp(there + 1, kBehindNop, sizeof kBehindNop) == 0) changes_.push_back({region.begin, kNop});
}

bool MendedCode::mend() {
  regions_ = read_code_map(files_.maps);
  changes_.clear();
  for (const CodeRegion& region : regions_) {
    if (region.is_module()) look_at_module(region);
    if (region.is_nameless()) look_at_agent_stop(region);
  }
  for (const Change& change : changes_) {
    if (pwrite(files_.memory, &change.byte, 1, static_cast<off_t>(change.address)) != 1) break;
  }
  return !changes_.empty();
}

bool MendedCode::mend_copy(int memory) const {
  bool any = false;
  for (const Change& change : changes_) {
    std::uint8_t now = 0;
    if (!read_at(memory, change.address, &now, 1) || now != kBreakpoint) continue;
    any = pwrite(memory, &change.byte, 1, static_cast<off_t>(change.address)) == 1 || any;
  }
  return any;
}

}  // namespace refhist::guard
