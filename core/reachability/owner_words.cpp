#include "reachability/owner_words.h"

#include <fmt/core.h>

#include <algorithm>

#include "heap/heap_walker.h"
#include "heap/reachability_memory.h"
#include "reachability/kernel_pointers.h"
#include "reachability/reachability_layout.h"
#include "reachability/reachability_places.h"
#include "reachability/reachability_roots.h"
#include "reachability/reachability_threads.h"
#include "reachability/scanned_process.h"

namespace refhist {

namespace {

class OwnerScan {
 public:
  OwnerScan(DebuggerPort& port, const ModuleMap& modules, std::vector<AddressRange> objects,
            const ReachOptions& options)
      : process_(port, options),
        modules_(modules),
        objects_(std::move(objects)),
        withholds_(options.withholds),
        progress_(options.progress),
        memory_(port, process_.info(), progress_) {
    if (!objects_.empty()) bounds_ = objects_.front();
    for (const AddressRange& object : objects_) {
      bounds_.begin = std::min(bounds_.begin, object.begin);
      bounds_.end = std::max(bounds_.end, object.end);
    }
  }

  OwnerWords run() {
    try {
      scan();
    } catch (const ScanInterrupted&) {
      doubt("interrupted");
    }
    if (memory_.unreadable() != 0)
      doubt(fmt::format("memory at {:#x} could not be read", memory_.unreadable()));
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_theirs(Address address) const {
    if (address < bounds_.begin || address >= bounds_.end) return false;
    return std::any_of(objects_.begin(), objects_.end(),
                       [address](const AddressRange& object) { return object.contains(address); });
  }

  void doubt(const std::string& why) {
    if (found_.why_not_all.empty()) found_.why_not_all = why;
  }

  void scan() {
    const MemoryLayout layout(process_.regions(), modules_);
    if (layout.regions().empty()) return doubt("the memory map of the process is not known");
    WalkedHeap heap =
        walk_heap(memory_, layout.ranges(Backing::module), layout.ranges(Backing::anonymous), withholds_);
    if (!heap.why_not.empty()) doubt("the heap could not be walked: " + heap.why_not);
    const auto anonymous = subtract(layout.ranges(Backing::anonymous), heap.map.used());
    const RootSet roots(layout, heap.map, find_thread_blocks(memory_, anonymous), process_.threads(),
                        kernel_pointers(process_.info()));
    if (!process_.why_not().empty()) doubt(process_.why_not());
    if (process_.running_threads() != 0) doubt("threads are running: what their registers hold is unknown");
    const HolderPlaces places(modules_, layout, roots, heap.map);
    for (const RegisterRoot& root : roots.registers()) {
      if (is_theirs(root.value)) found_.words.push_back({0, root.value, root.where});
    }
    const std::size_t registers = found_.words.size();
    for (const RootRange& root : roots.ranges()) look(root.range, root.backing, places, nullptr);
    for (const AddressRange& used : heap.map.used()) look(used, Backing::anonymous, places, &heap.map);
    std::sort(found_.words.begin() + static_cast<std::ptrdiff_t>(registers), found_.words.end(),
              [](const OwnerWord& a, const OwnerWord& b) { return a.at < b.at; });
  }

  /// `heap`: the range is the allocator's, and only what is handed out counts.
  void look(AddressRange range, Backing backing, const HolderPlaces& places, HeapMap* heap) {
    memory_.each_piece(range, backing, [&](Address at, const ScanMemory::Word* words, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        const Address target = untagged(words[i]);
        const Address moved = above_tag(words[i]);
        if (is_theirs(target) || is_theirs(moved))
          add(at + 8 * i, is_theirs(target) ? target : moved, places, heap);
      }
    });
  }

  void add(Address at, Address value, const HolderPlaces& places, HeapMap* heap) {
    if (is_theirs(at)) return;
    OwnerWord word{at, value, {}, {}};
    if (heap != nullptr) {
      const std::optional<HeapBlock> block = heap->block_at(at);
      if (!block || !block->live()) return;
      word.block = {block->begin(), block->end()};
    }
    word.where = places.name(at);
    found_.words.push_back(std::move(word));
  }

  ScannedProcess process_;
  const ModuleMap& modules_;
  std::vector<AddressRange> objects_;
  AddressRange bounds_;  // of all of them
  bool withholds_;
  ScanProgress progress_;
  ScanMemory memory_;
  OwnerWords found_;
};

}  // namespace

AddressRange extent_of(const Object& object) {
  return {object.address, object.address + std::max<std::uint64_t>(object.size, 1)};
}

OwnerWords find_owner_words(DebuggerPort& port, const ModuleMap& modules, AddressRange object,
                            const ReachOptions& options) {
  return find_owner_words(port, modules, std::vector<AddressRange>{object}, options);
}

OwnerWords find_owner_words(DebuggerPort& port, const ModuleMap& modules, std::vector<AddressRange> objects,
                            const ReachOptions& options) {
  return OwnerScan(port, modules, std::move(objects), options).run();
}

}  // namespace refhist
