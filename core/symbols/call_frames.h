// Call frame information of one module, turned into UnwindRules. Each row is decoded once, on first need.
#pragma once

#include <elfutils/libdw.h>

#include <map>
#include <memory>

#include "symbols/elf_file.h"
#include "symbols/unwind_rule.h"

namespace refhist {

class CallFrames {
 public:
  /// `debug_frame` may be null: what dwarf_getcfi gave for a module with a .debug_frame.
  CallFrames(const ElfFile& main, Dwarf_CFI* debug_frame);
  ~CallFrames();
  CallFrames(const CallFrames&) = delete;
  CallFrames& operator=(const CallFrames&) = delete;

  /// nullptr when no frame description covers the address. Stays valid as long as this object.
  const UnwindRule* rule(Address address);

 private:
  struct Row {
    Address end = 0;
    std::unique_ptr<const UnwindRule> rule;
  };
  const UnwindRule* decode(Dwarf_CFI* cfi, Address address);

  Dwarf_CFI* eh_frame_ = nullptr;     // owned
  Dwarf_CFI* debug_frame_ = nullptr;  // belongs to its Dwarf
  std::map<Address, Row> rows_;       // by the first address that was asked for
};

}  // namespace refhist
