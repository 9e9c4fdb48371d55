#include "reachability/reachability_places.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"

namespace refhist {

namespace {
constexpr std::string_view kAnonymousMemory = "anonymous memory";
constexpr std::string_view kHeapMemory = "[heap] memory";
}  // namespace

bool is_on_stack(std::string_view place) { return place.starts_with("stack"); }

bool is_of_unknown_use(std::string_view place) {
  return place.starts_with(kAnonymousMemory) || place.starts_with(kHeapMemory);
}

HolderPlaces::HolderPlaces(const ModuleMap& modules, const MemoryLayout& layout, const RootSet& roots,
                           HeapMap& heap)
    : modules_(modules), layout_(layout), heap_(heap) {
  for (const ThreadBlock& block : roots.blocks()) {
    if (block.tid == 0) continue;
    storage_.push_back(
        {{block.tls_begin, block.control}, fmt::format("thread-local storage of thread {}", block.tid)});
  }
  for (const RootThread& thread : roots.threads()) {
    stacks_.push_back({thread.stack, fmt::format("stack of thread {}", thread.tid)});
  }
  const auto by_begin = [](const Place& a, const Place& b) { return a.range.begin < b.range.begin; };
  std::sort(storage_.begin(), storage_.end(), by_begin);
  std::sort(stacks_.begin(), stacks_.end(), by_begin);
}

const HolderPlaces::Place* HolderPlaces::find(const std::vector<Place>& places, Address address) {
  auto it = std::upper_bound(places.begin(), places.end(), address,
                             [](Address a, const Place& place) { return a < place.range.begin; });
  if (it == places.begin()) return nullptr;
  --it;
  return it->range.contains(address) ? &*it : nullptr;
}

std::string HolderPlaces::name(Address address) const {
  if (const std::optional<HeapBlock> block = heap_.block_at(address)) {
    return fmt::format("heap block 0x{:x}+0x{:x}", block->begin(), address - block->begin());
  }
  if (const Place* place = find(storage_, address)) return place->name;
  if (const Place* place = find(stacks_, address)) return place->name;
  if (const LoadedModule* loaded = modules_.at(address)) {
    return data_place(*loaded, address - loaded->bias);
  }
  return mapping_place(address);
}

std::string HolderPlaces::data_place(const LoadedModule& loaded, Address address) {
  const std::string module = file_name(loaded.module->path());
  const std::optional<DataSymbol> symbol = loaded.module->data_symbol_at(address);
  if (!symbol) return fmt::format("{}+0x{:x}", module, address);
  const std::string name = demangle(symbol->name);
  if (symbol->address == address) return fmt::format("{} ({})", name, module);
  return fmt::format("{}+{} ({})", name, address - symbol->address, module);
}

std::string HolderPlaces::mapping_place(Address address) const {
  const WritableRegion* region = layout_.at(address);
  if (region == nullptr || region->path.empty())
    return fmt::format("{} at 0x{:x}", kAnonymousMemory, address);
  if (region->path == "[heap]") return fmt::format("{} at 0x{:x}", kHeapMemory, address);
  return fmt::format("{}+0x{:x}", file_name(region->path), address - region->range.begin);
}

}  // namespace refhist
