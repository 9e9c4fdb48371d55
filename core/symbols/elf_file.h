// An ELF64 x86-64 file as libelf reads it: headers, segments, identity. No symbols, no debug information.
#pragma once

#include <gelf.h>
#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/module.h"

namespace refhist {

struct DebugLink {
  std::string name;       ///< file name of the separate debug file, no folder
  std::uint32_t crc = 0;  ///< CRC-32 of its whole contents
};

/// Contents of a section, as they are in the file.
struct SectionBytes {
  Address address = 0;
  std::string_view bytes;
};

class ElfFile {
 public:
  /// Throws Error: not found, not readable, not ELF, other machine than x86-64.
  static std::unique_ptr<ElfFile> open(const std::string& path);
  /// The same from memory, for the vdso. `name` is what messages call it.
  static std::unique_ptr<ElfFile> from_image(const std::string& name, std::vector<std::uint8_t> image);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  [[nodiscard]] Elf* elf() const { return elf_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const GElf_Ehdr& header() const { return header_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }
  [[nodiscard]] const std::string& build_id() const { return build_id_; }
  [[nodiscard]] std::string interpreter() const;
  [[nodiscard]] std::optional<DebugLink> debug_link() const;
  /// True when the section is there with contents (a stripped section of a debug file is not).
  [[nodiscard]] bool has_section(std::string_view name) const;
  [[nodiscard]] bool has_dwarf() const { return has_section(".debug_info") || has_section(".zdebug_info"); }
  /// Nothing when it is not there, has no contents or is compressed.
  [[nodiscard]] std::optional<SectionBytes> section(std::string_view name) const;
  /// The first section of this type (SHT_SYMTAB, SHT_DYNSYM); nullptr when none.
  [[nodiscard]] Elf_Scn* section_of_type(std::uint32_t type) const;
  /// Bytes that the file holds for [address, address + size); false unless all lie in one segment.
  [[nodiscard]] bool read(Address address, void* out, std::size_t size) const;
  /// All bytes of the file.
  [[nodiscard]] std::string_view contents() const;

 private:
  ElfFile(std::string path, std::vector<std::uint8_t> image);
  void check_and_read_headers();
  void read_segments();
  void read_build_id();

  std::string path_;
  std::vector<std::uint8_t> image_;  // of from_image; otherwise empty
  int fd_ = -1;
  Elf* elf_ = nullptr;
  GElf_Ehdr header_{};
  std::vector<Segment> segments_;
  std::string build_id_;
};

/// Hex digits of a build id in a run of ELF notes; empty when it has none.
std::string build_id_in_notes(std::string_view notes);

}  // namespace refhist
