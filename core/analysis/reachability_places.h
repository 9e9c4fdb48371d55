// Names the place of a word that holds an object.
#pragma once

#include <string>

#include "analysis/heap_map.h"
#include "analysis/reachability_layout.h"
#include "analysis/reachability_objects.h"
#include "analysis/reachability_roots.h"
#include "symbols/module_map.h"

namespace refhist {

class HolderPlaces {
 public:
  HolderPlaces(const ModuleMap& modules, const MemoryLayout& layout, const RootSet& roots, HeapMap& heap)
      : modules_(modules), layout_(layout), roots_(roots), heap_(heap) {}

  /// "cache+0x8 in a.out", "stack of thread 12", "heap block 0x...+0x10"
  [[nodiscard]] std::string name(Address address) const;

 private:
  [[nodiscard]] std::string thread_place(Address address) const;
  [[nodiscard]] std::string mapping_place(Address address) const;

  const ModuleMap& modules_;
  const MemoryLayout& layout_;
  const RootSet& roots_;
  HeapMap& heap_;
};

}  // namespace refhist
