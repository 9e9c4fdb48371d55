#include "agent_host/process_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/task_status.h"

namespace refhist {

namespace {
constexpr Address kJumpReach = (Address{1} << 31) - (Address{64} << 20);  // of a 32-bit jump, with some room
constexpr Address kLowest = 0x10000;                                      // mmap_min_addr
constexpr Address kHighest = Address{1} << 47;
constexpr Address kStep = Address{1} << 20;
constexpr Address kMargin = Address{1} << 20;  // kept free around: heaps and stacks grow
}  // namespace

ProcessLayout::ProcessLayout(long pid) : pid_(pid), regions_(read_mapped_regions(pid)) {
  if (regions_.empty()) fail("/proc/{}/maps cannot be read", pid);
}

std::string ProcessLayout::obstacle(long pid) {
  if (const std::string mode = task_status(pid, "Seccomp"); !mode.empty() && mode != "0")
    return "the program filters its system calls (seccomp)";
  return {};
}

bool ProcessLayout::free(Address begin, std::uint64_t size) const {
  return std::none_of(regions_.begin(), regions_.end(), [&](const MappedRegion& region) {
    return region.begin < begin + size + kMargin && begin < region.end + kMargin;
  });
}

std::optional<Address> ProcessLayout::gap_near(Address near, std::uint64_t size,
                                               std::uint64_t distance) const {
  const Address page = near / kStep * kStep;
  for (std::uint64_t away = distance; away + size < kJumpReach; away += kStep) {
    if (page > away + size + kLowest && free(page - away - size, size)) return page - away - size;
  }
  for (std::uint64_t away = distance; away + size < kJumpReach; away += kStep) {
    if (page + away + size < kHighest && free(page + away, size)) return page + away;
  }
  for (std::uint64_t away = distance; away >= kStep; away -= kStep) {
    if (page > away + size + kLowest && free(page - away - size, size)) return page - away - size;
  }
  return std::nullopt;
}

std::optional<Address> ProcessLayout::first_free(Address from, std::uint64_t size) const {
  Address place = from;
  for (const MappedRegion& region : regions_) {  // in order of address
    if (region.end + kMargin <= place) continue;
    if (region.begin >= place + size + kMargin) return place;
    place = (region.end + kMargin + kStep - 1) / kStep * kStep;
  }
  return std::nullopt;
}

std::optional<Address> ProcessLayout::system_call_instruction(const ProcessMemory& memory) const {
  const auto vdso = std::find_if(regions_.begin(), regions_.end(),
                                 [](const MappedRegion& region) { return region.path == "[vdso]"; });
  if (vdso == regions_.end()) return std::nullopt;
  std::vector<std::uint8_t> code(vdso->end - vdso->begin);
  code.resize(memory.read(vdso->begin, code.data(), code.size()));
  constexpr std::array<std::uint8_t, 2> kSyscall{0x0f, 0x05};
  const auto found = std::search(code.begin(), code.end(), kSyscall.begin(), kSyscall.end());
  if (found == code.end()) return std::nullopt;
  return vdso->begin + static_cast<Address>(found - code.begin());
}

std::optional<Address> ProcessLayout::begin_of(const std::string& path) const {
  for (const MappedRegion& region : regions_) {
    if (region.path == path) return region.begin;
  }
  return std::nullopt;
}

std::vector<Address> ProcessLayout::groups(const std::vector<const LoadedModule*>& modules) {
  std::vector<Address> near;
  for (const LoadedModule* module : modules) {
    const bool reached = std::any_of(near.begin(), near.end(), [&](Address other) {
      return std::max(other, module->begin) - std::min(other, module->begin) < (Address{1} << 30U);
    });
    if (!reached) near.push_back(module->begin);
  }
  return near;
}

}  // namespace refhist
