// What a module's DWARF tells, each part read on first need. libdw inflates compressed debug information as a
// whole when it opens it, which takes longer than all else that is asked of most libraries: where the names
// are known from a session before, it opens it only for a name that is there.
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
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  /// What is in .debug_frame; nullptr when there is none.
  [[nodiscard]] Dwarf_CFI* call_frames() { return dwarf_getcfi(opened().dwarf); }
  std::vector<SourceFrame> source_frames(Address address) { return opened().sources.frames(address); }
  std::vector<LineRow> line_rows(const FileRange& range, Address of) {
    return opened().sources.rows(range, of);
  }
  std::vector<InlinedCopy> inlined_copies(std::string_view name);
  /// `entry` is the function's first address. Nothing when no function of the debug information begins there.
  std::optional<Signature> signature(const std::string& linkage_name, Address entry);
  std::optional<Signature> inlined_signature(const std::string& name);
  /// As of Module.
  VariableAt variable_at(Address code, const DataSymbol& variable, std::uint64_t offset);
  std::vector<LocalPointer> pointers_at(Address code);
  const NameIndex& names();
  /// Nothing that is missing lets names be kept.
  std::string missing() { return names_are_kept_ ? std::string() : opened().units.missing(); }

 private:
  struct Opened {
    Opened(Dwarf* begun, const std::string& module)
        : dwarf(begun), refs(begun), units(begun, module), sources(units) {}
    ~Opened() { dwarf_end(dwarf); }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

    Dwarf* dwarf;  ///< may be nullptr: then it tells nothing
    DieRefs refs;
    DebugUnits units;
    SourceFinder sources;
  };

  DebugInfo(const ElfFile& file, const std::string& module) : file_(file), module_(module) {}
  Opened& opened();
  bool knows_names();
  /// What a session before has kept, or what `make` makes.
  TableFile kept(std::string_view name, std::uint32_t kind, std::uint32_t version,
                 const std::function<TableFile()>& make);
  const InlineIndex& inlined();
  Signature read_signature(const std::string& name, const Dwarf_Die& function);

  const ElfFile& file_;
  std::string module_;
  std::unique_ptr<Opened> opened_;
  bool names_are_kept_ = false;
  std::unique_ptr<NameIndex> names_;
  std::unique_ptr<InlineIndex> inlined_;
};

}  // namespace refhist
