// Every word of the program's memory that points at an object or into it. The roots and the heap are those of
// reachability.h, with the same limits; what the allocator has got back is left out.
#pragma once

#include <string>
#include <vector>

#include "heap/reachability_ranges.h"
#include "history/object.h"
#include "reachability/reachability.h"

namespace refhist {

struct OwnerWord {
  Address at = 0;        ///< 0: a register holds it
  Address value = 0;     ///< what it points at
  std::string where;     ///< "conn_table+16 (a.out)", "register rbx of thread 12", "heap block 0x…+0x10"
  AddressRange block{};  ///< of the heap, that it lies in; empty elsewhere
};

struct OwnerWords {
  std::vector<OwnerWord> words;  ///< registers first, then by address
  std::string why_not_all;       ///< why some may be missing; empty when none is
};

/// Of the object; a byte of one whose size is not known.
AddressRange extent_of(const Object& object);

/// Words inside the object itself are no owners.
OwnerWords find_owner_words(DebuggerPort& port, const ModuleMap& modules, AddressRange object,
                            const ReachOptions& options);
/// The same of any of several blocks.
OwnerWords find_owner_words(DebuggerPort& port, const ModuleMap& modules, std::vector<AddressRange> objects,
                            const ReachOptions& options);

}  // namespace refhist
