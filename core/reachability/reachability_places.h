// Names the place of a word that holds an object.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heap/heap_map.h"
#include "reachability/reachability_layout.h"
#include "reachability/reachability_objects.h"
#include "reachability/reachability_roots.h"
#include "symbols/module_map.h"

namespace refhist {

/// The place, as HolderPlaces names it, is in no block, variable or file that is known: whatever was there
/// may be out of use.
bool is_of_unknown_use(std::string_view place);
/// The place, as HolderPlaces names it, is on the stack of a thread.
bool is_on_stack(std::string_view place);

class HolderPlaces {
 public:
  HolderPlaces(const ModuleMap& modules, const MemoryLayout& layout, const RootSet& roots, HeapMap& heap);

  /// "conn_table+16 (a.out)", "a.out+0x4010" where no symbol tells, "stack of thread 12", "heap block
  /// 0x...+0x10"
  [[nodiscard]] std::string name(Address address) const;

 private:
  struct Place {
    AddressRange range;
    std::string name;
  };
  [[nodiscard]] static const Place* find(const std::vector<Place>& places, Address address);
  [[nodiscard]] static std::string data_place(const LoadedModule& loaded, Address address);
  [[nodiscard]] std::string mapping_place(Address address) const;

  const ModuleMap& modules_;
  const MemoryLayout& layout_;
  HeapMap& heap_;
  std::vector<Place> storage_;  // thread-local; lies inside the stacks
  std::vector<Place> stacks_;
};

}  // namespace refhist
