#include "reachability/reachability.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "heap/heap_image.h"
#include "heap/heap_walker.h"
#include "heap/python_pools.h"
#include "heap/reachability_memory.h"
#include "reachability/kernel_pointers.h"
#include "reachability/lost_memory.h"
#include "reachability/reachability_exit.h"
#include "reachability/reachability_layout.h"
#include "reachability/reachability_marker.h"
#include "reachability/reachability_objects.h"
#include "reachability/reachability_places.h"
#include "reachability/reachability_roots.h"
#include "reachability/reachability_threads.h"
#include "reachability/scanned_process.h"

namespace refhist {

namespace {

class ReachabilityScan {
 public:
  ReachabilityScan(DebuggerPort& port, const ModuleMap& modules, Unwinder& unwinder,
                   const std::vector<TrackedBlock>& blocks, const ReachOptions& options)
      : modules_(modules),
        unwinder_(unwinder),
        blocks_(blocks),
        options_(options),
        progress_(options.progress),
        process_(port, options),
        memory_(port, process_.info(), progress_) {}

  ReachResult run() {
    result_.objects.resize(blocks_.size());
    for (std::size_t i = 0; i < blocks_.size(); ++i) result_.objects[i].object = blocks_[i].object;
    try {
      scan();
    } catch (const ScanInterrupted&) {
      incomplete("interrupted");
    }
    if (memory_.unreadable() != 0) {
      incomplete(fmt::format("memory at 0x{:x} could not be read", memory_.unreadable()));
    }
    result_.bytes_scanned = progress_.bytes();
    return std::move(result_);
  }

 private:
  void incomplete(std::string why) {
    if (result_.complete) result_.why_not = std::move(why);
    result_.complete = false;
  }

  void scan() {
    const std::vector<MemoryRegion> regions = process_.regions();
    const MemoryLayout layout(regions, modules_);
    if (layout.regions().empty()) return incomplete("the memory map of the process is not known");
    WalkedHeap heap = walk_heap(memory_, layout.ranges(Backing::module), layout.ranges(Backing::anonymous),
                                options_.withholds);
    result_.heap_walked = heap.why_not.empty();
    result_.heap_why_not = heap.why_not;
    const std::vector<Address> unknown = cut_blocks(heap.map);
    add_pools(layout, heap.map);
    const auto anonymous = subtract(layout.ranges(Backing::anonymous), heap.map.used());
    const RootSet roots(layout, heap.map, find_thread_blocks(memory_, anonymous), threads(),
                        kernel_pointers(process_.info()));
    TrackedCells cells(blocks_, heap.map, readable(regions));
    HeapImage image(memory_, heap.map, options_.cache_bytes);
    mark(roots, unknown, heap.map, cells, image);
    LostMemory lost(blocks_, heap.map, cells, image, options_.end_gives_back);
    lost.run();
    tell(cells, lost, HolderPlaces(modules_, layout, roots, heap.map));
  }

  void add_pools(const MemoryLayout& layout, HeapMap& heap) {
    std::vector<Address> objects;
    for (const TrackedBlock& block : blocks_) {
      if (block.python) objects.push_back(block.begin);
    }
    if (objects.empty()) return;
    std::sort(objects.begin(), objects.end());
    add_python_pools(memory_, heap, objects, subtract(layout.ranges(Backing::anonymous), heap.used()));
  }

  static std::vector<AddressRange> readable(const std::vector<MemoryRegion>& regions) {
    std::vector<AddressRange> ranges;
    for (const MemoryRegion& region : regions) {
      if (region.readable) ranges.push_back({region.begin, region.end});
    }
    return subtract(std::move(ranges), {});
  }

  std::vector<RootThread> threads() {
    std::vector<RootThread> threads = process_.threads();
    result_.running_threads = process_.running_threads();
    if (!process_.why_not().empty()) incomplete(process_.why_not());
    for (RootThread& thread : threads) {
      if (options_.at_exit) cut(thread);
      if (thread.tid == options_.exiting_thread) thread.saved_only = true;
    }
    return threads;
  }

  void cut(RootThread& thread) {
    const auto read = [this](Address address, void* out, std::size_t size) {
      return memory_.process().read(address, out, size);
    };
    const ExitCut cut = cut_exit_frames(modules_, unwinder_, thread.registers, read);
    if (!cut.cut) return;
    thread.registers = cut.registers;
    thread.saved_only = true;
  }

  /// Alone: of an array of objects that are handed out, none is named by code.
  [[nodiscard]] bool is_variable(const AddressRange& cell) const {
    const LoadedModule* module = modules_.at(cell.begin);
    if (module == nullptr) return false;
    const auto symbol = module->module->data_symbol_at(cell.begin - module->bias);
    return symbol && symbol->address + module->bias == cell.begin && symbol->size <= cell.end - cell.begin;
  }

  /// Where the variable begins that the address lies in; 0 where no symbol tells.
  [[nodiscard]] Address variable_of(Address address) const {
    const LoadedModule* module = modules_.at(address);
    if (module == nullptr) return 0;
    const auto symbol = module->module->data_symbol_at(address - module->bias);
    return symbol ? symbol->address + module->bias : 0;
  }

  /// Returns the addresses of what is neither known to be handed out nor to be free.
  std::vector<Address> cut_blocks(HeapMap& heap) const {
    std::vector<Address> unknown;
    auto next = options_.cut.begin();
    for (const auto& [begin, end] : options_.slabs) {
      const std::optional<HeapBlock> block = heap.block_from(begin);
      std::vector<AddressRange> pieces;
      while (next != options_.cut.end() && next->first < begin) ++next;
      for (; next != options_.cut.end() && next->first < end; ++next) {
        pieces.push_back({next->first, next->second});
      }
      if (!block || !block->live() || block->span->shift != HeapSpan::kChunkShift) continue;
      const std::vector<Address> gaps = heap.cut(*block, pieces, !options_.all_cut);
      if (!options_.all_cut) unknown.insert(unknown.end(), gaps.begin(), gaps.end());
    }
    return unknown;
  }

  void mark(const RootSet& roots, const std::vector<Address>& unknown, HeapMap& heap, TrackedCells& cells,
            HeapImage& image) {
    ReachabilityMarker marker(heap, cells, image, options_.lists);
    for (const Address gap : unknown) marker.root_register(gap, TrackedCell::kNoRegister);
    for (const RootRange& root : roots.ranges()) {
      if (root.backing == Backing::module)
        marker.root_objects(root.range, [this](const AddressRange& cell) { return is_variable(cell); });
      memory_.each_piece(root.range, root.backing,
                         [&](Address at, const ScanMemory::Word* words, std::size_t count) {
                           marker.root_words(at, words, count);
                         });
    }
    for (std::size_t i = 0; i < roots.registers().size(); ++i) {
      marker.root_register(roots.registers()[i].value, static_cast<std::uint32_t>(i));
    }
    registers_ = roots.registers();
    marker.run();
    for (const RootRange& root : roots.ranges()) {
      if (root.backing == Backing::module)
        marker.root_indexed(root.range, [this](Address at) { return variable_of(at); });
    }
    marker.run();
    marker.give_up_entries();
  }

  void tell(TrackedCells& cells, LostMemory& lost, const HolderPlaces& places) {
    for (std::size_t index = 0; index < cells.size(); ++index) {
      const TrackedCell& cell = cells.cell(index);
      ReachOfObject fate;
      fate.reach = cell.reach;
      fate.held_by_leak = lost.held_by_leak(index);
      fate.cycle_number = lost.cycle_number(index);
      for (const LostMemory::Step& step : lost.cycle_of(index)) {
        const TrackedCell* of = cells.at(step.begin);
        fate.cycle.push_back({step.word, step.begin,
                              of == nullptr ? ObjectId() : blocks_[cells.member_at(*of, step.word)].object});
      }
      fate.holder = cell.holder;
      if (cell.register_root != TrackedCell::kNoRegister) {
        fate.where = registers_[cell.register_root].where;
      } else if (cell.holder != 0) {
        fate.where = places.name(cell.holder);
        const TrackedCell* holder = cells.at(cell.holder);
        if (cell.range.contains(cell.holder)) {
          fate.where = fmt::format("the program itself (it is its variable {})", fate.where);
        } else if (holder != nullptr) {
          fate.holder_object = blocks_[cells.member_at(*holder, cell.holder)].object;
        }
      }
      for (std::uint32_t i = 0; i < cell.count; ++i) tell(cells.members()[cell.first + i], fate);
    }
    for (const std::uint32_t i : cells.freed()) result_.objects[i].freed = true;
  }

  void tell(std::uint32_t block, const ReachOfObject& fate) {
    const ObjectId object = result_.objects[block].object;
    result_.objects[block] = fate;
    result_.objects[block].object = object;
  }

  const ModuleMap& modules_;
  Unwinder& unwinder_;
  const std::vector<TrackedBlock>& blocks_;
  const ReachOptions& options_;
  ScanProgress progress_;
  ScannedProcess process_;
  ScanMemory memory_;
  std::vector<RegisterRoot> registers_;
  ReachResult result_;
};

}  // namespace

ReachResult scan_reachability(DebuggerPort& port, const ModuleMap& modules, Unwinder& unwinder,
                              const std::vector<TrackedBlock>& blocks, const ReachOptions& options) {
  return ReachabilityScan(port, modules, unwinder, blocks, options).run();
}

}  // namespace refhist
