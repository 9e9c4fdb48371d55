#include "analysis/reachability_places.h"

#include <fmt/core.h>

#include "base/text.h"

namespace refhist {

std::string HolderPlaces::name(Address address) const {
  if (const std::optional<HeapBlock> block = heap_.block_at(address)) {
    return fmt::format("heap block 0x{:x}+0x{:x}", block->begin(), address - block->begin());
  }
  const std::string thread = thread_place(address);
  if (!thread.empty()) return thread;
  if (const LoadedModule* loaded = modules_.at(address)) {
    return fmt::format("{}+0x{:x}", file_name(loaded->module->path()), address - loaded->bias);
  }
  return mapping_place(address);
}

std::string HolderPlaces::thread_place(Address address) const {
  for (const ThreadBlock& block : roots_.blocks()) {
    const bool local = address >= block.tls_begin && address < block.control;
    if (local && block.tid != 0) return fmt::format("thread-local storage of thread {}", block.tid);
  }
  for (const RootThread& thread : roots_.threads()) {
    if (thread.stack.contains(address)) return fmt::format("stack of thread {}", thread.tid);
  }
  return {};
}

std::string HolderPlaces::mapping_place(Address address) const {
  const WritableRegion* region = layout_.at(address);
  if (region == nullptr || region->path.empty()) return fmt::format("anonymous memory at 0x{:x}", address);
  if (region->path == "[heap]") return fmt::format("[heap] memory at 0x{:x}", address);
  return fmt::format("{}+0x{:x}", file_name(region->path), address - region->range.begin);
}

}  // namespace refhist
