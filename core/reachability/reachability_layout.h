// What the writable memory of the process is: data of modules, anonymous memory, other files.
#pragma once

#include <string>
#include <vector>

#include "heap/reachability_memory.h"
#include "heap/reachability_ranges.h"
#include "port/debugger_port.h"
#include "symbols/module_map.h"

namespace refhist {

struct WritableRegion {
  AddressRange range;
  Backing backing = Backing::anonymous;
  bool main_stack = false;
  bool guarded = false;  ///< an inaccessible mapping lies right below: it can be a stack that ends there
  std::string path;
};

class MemoryLayout {
 public:
  MemoryLayout(const std::vector<MemoryRegion>& regions, const ModuleMap& modules);

  [[nodiscard]] const std::vector<WritableRegion>& regions() const { return regions_; }  ///< by address
  [[nodiscard]] const WritableRegion* at(Address address) const;
  [[nodiscard]] std::vector<AddressRange> ranges(Backing backing) const;

 private:
  void add(const MemoryRegion& region, const ModuleMap& modules, bool guarded);

  std::vector<WritableRegion> regions_;
};

}  // namespace refhist
