#include "reachability/reachability_layout.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace refhist {

namespace {

// A debugger that reads no path (a core file, a remote target) still knows which module lies where. The
// memory behind a module's .data is anonymous for the kernel, and .bss for us.
Backing backing_of(const MemoryRegion& region, const ModuleMap& modules) {
  if (modules.at(region.begin) != nullptr) return Backing::module;
  return region.path.starts_with('/') ? Backing::file : Backing::anonymous;
}

/// Written once and then sealed, maybe.
bool may_be_sealed(const MemoryRegion& region) {
  constexpr std::array<std::string_view, 3> kShared{"/memfd:", "/dev/shm/", "/SYSV"};
  return !region.executable &&
         (region.path.empty() || std::any_of(kShared.begin(), kShared.end(), [&](std::string_view name) {
            return region.path.starts_with(name);
          }));
}

}  // namespace

MemoryLayout::MemoryLayout(const std::vector<MemoryRegion>& regions, const ModuleMap& modules) {
  std::vector<MemoryRegion> sorted = regions;
  std::sort(sorted.begin(), sorted.end(),
            [](const MemoryRegion& a, const MemoryRegion& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const MemoryRegion& region = sorted[i];
    const bool holds = region.readable && (region.writable || may_be_sealed(region));
    if (!holds || region.begin >= region.end) continue;
    const bool guarded = i != 0 && sorted[i - 1].end == region.begin && !sorted[i - 1].readable;
    add(region, modules, guarded);
  }
}

void MemoryLayout::add(const MemoryRegion& region, const ModuleMap& modules, bool guarded) {
  WritableRegion out;
  out.range = {region.begin, region.end};
  out.backing = backing_of(region, modules);
  out.main_stack = region.path == "[stack]";
  out.guarded = guarded;
  out.path = region.path;
  const LoadedModule* module = modules.at(region.begin);
  if (module != nullptr && !region.path.starts_with('/')) {
    // Without address randomisation the heap follows .bss at once, and the kernel shows both as one.
    const Address end = (module->end + kPage - 1) & ~(kPage - 1);
    if (end < region.end) {
      WritableRegion behind = out;
      behind.range.begin = out.range.end = end;
      behind.backing = Backing::anonymous;
      regions_.push_back(std::move(out));
      regions_.push_back(std::move(behind));
      return;
    }
  }
  regions_.push_back(std::move(out));
}

const WritableRegion* MemoryLayout::at(Address address) const {
  auto it = std::upper_bound(regions_.begin(), regions_.end(), address,
                             [](Address a, const WritableRegion& region) { return a < region.range.begin; });
  if (it == regions_.begin()) return nullptr;
  --it;
  return it->range.contains(address) ? &*it : nullptr;
}

std::vector<AddressRange> MemoryLayout::ranges(Backing backing) const {
  std::vector<AddressRange> ranges;
  for (const WritableRegion& region : regions_) {
    if (region.backing == backing) ranges.push_back(region.range);
  }
  return ranges;
}

}  // namespace refhist
