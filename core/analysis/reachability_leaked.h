// Among what the roots do not reach: which objects does other unreached memory point at?
#pragma once

#include "analysis/heap_image.h"
#include "analysis/heap_map.h"
#include "analysis/reachability_objects.h"

namespace refhist {

/// To be run after the marker. Objects that something unreached points at become from_leaked, with a holder
/// in another tracked object where there is one.
class LeakedSweep {
 public:
  LeakedSweep(HeapMap& heap, TrackedCells& cells, HeapImage& image);
  void run();

 private:
  using Word = ScanMemory::Word;
  static constexpr std::size_t kNoCell = ~std::size_t{0};
  void sweep_blocks(HeapSpan& span);
  void sweep_block(HeapSpan& span, AddressRange range);
  void sweep_cell(HeapSpan& span, std::size_t cell);
  void sweep(HeapSpan& span, AddressRange range, std::size_t source);
  void point(Address target, Address holder, std::size_t source);

  HeapMap& heap_;
  TrackedCells& cells_;
  HeapImage& image_;
  AddressRange wanted_;  // the cells that are not reached lie in here
};

}  // namespace refhist
