// All bytes of one ELF file that patching looks at, as they stand in memory: code, data, and where functions
// begin.
#pragma once

#include <elf.h>

#include <vector>

#include "patching/patch.h"
#include "symbols/module.h"

namespace refhist {

class ModuleCode {
 public:
  /// `bias` is what addresses in memory are above those of the file.
  ModuleCode(const Module& module, Address bias);
  ModuleCode(ModuleCode&&) = default;
  ModuleCode(const ModuleCode&) = delete;
  ModuleCode& operator=(const ModuleCode&) = delete;

  [[nodiscard]] const std::vector<CodeRange>& code() const { return code_; }
  /// Tables, pointers and the relocations that make them.
  [[nodiscard]] const std::vector<CodeRange>& data() const { return data_; }
  /// Sorted: function symbols and the functions that .eh_frame_hdr lists, hence hidden ones too.
  [[nodiscard]] const std::vector<Address>& starts() const { return starts_; }
  [[nodiscard]] Address bias() const { return bias_; }

  /// From the address to the next known start; empty outside of the code.
  [[nodiscard]] CodeRange function_at(Address address) const;
  /// From the address to the end of its segment; empty outside of the data.
  [[nodiscard]] CodeRange data_at(Address address) const;
  /// The request for a function of this size (0: unknown), with nothing to keep.
  [[nodiscard]] PatchRequest request(Address function, std::uint64_t size) const;

 private:
  /// What holds no pointers to code but numbers that look like them: headers and the dynamic section.
  void blank_sizes(const Segment& segment, const std::vector<Elf64_Phdr>& programs);
  void read_frame_table(const Module& module, Address table, std::uint64_t size);

  Address bias_;
  std::vector<std::vector<std::uint8_t>> bytes_;
  std::vector<CodeRange> code_;
  std::vector<CodeRange> data_;
  std::vector<Address> starts_;
};

}  // namespace refhist
