// What a module's DWARF tells, each part read on first need.
#pragma once

#include <functional>
#include <memory>

#include "symbols/elf_file.h"
#include "symbols/inline_index.h"
#include "symbols/module.h"
#include "symbols/name_index.h"
#include "symbols/source_finder.h"

namespace refhist {

class DebugInfo {
 public:
  /// `file` has to stay open as long as this object. nullptr when libdw cannot read it. `module`
  /// is the path by which progress is told.
  static std::unique_ptr<DebugInfo> open(const ElfFile& file, const std::string& module);
  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  /// What is in .debug_frame; nullptr when there is none.
  [[nodiscard]] Dwarf_CFI* call_frames() const { return dwarf_getcfi(dwarf_); }
  std::vector<SourceFrame> source_frames(Address address) { return sources_.frames(address); }
  std::vector<LineRow> line_rows(const FileRange& range, Address of) { return sources_.rows(range, of); }
  std::vector<InlinedCopy> inlined_copies(std::string_view name);
  /// `entry` is the function's first address. Nothing when no function of the debug information begins there.
  std::optional<Signature> signature(const std::string& linkage_name, Address entry);
  std::optional<Signature> inlined_signature(const std::string& name);
  /// As of Module.
  VariableAt variable_at(Address code, std::string_view variable, std::uint64_t offset);
  std::vector<LocalPointer> pointers_at(Address code);
  const NameIndex& names();
  const std::string& missing() { return units_.missing(); }

 private:
  DebugInfo(Dwarf* dwarf, const ElfFile& file, const std::string& module);
  /// What a session before has kept, or what `make` makes.
  TableFile kept(std::string_view name, std::uint32_t kind, std::uint32_t version,
                 const std::function<TableFile()>& make);
  const InlineIndex& inlined();
  Signature read_signature(const std::string& name, const Dwarf_Die& function);

  Dwarf* dwarf_ = nullptr;
  const ElfFile& file_;
  DieRefs refs_;
  DebugUnits units_;
  SourceFinder sources_;
  std::unique_ptr<NameIndex> names_;
  std::unique_ptr<InlineIndex> inlined_;
};

}  // namespace refhist
