#include "agent_host/symbol_file.h"

#include <elf.h>

#include <array>
#include <cstring>

namespace refhist {

namespace {
enum Section : std::uint16_t {
  kNone,
  kText,
  kFrames,
  kSymbols,
  kStrings,
  kSectionNames,
  kAbbreviations,
  kInfo,
  kLines,
  kSections
};
using namespace std::string_view_literals;
constexpr std::string_view kNames =
    "\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab\0.debug_abbrev\0.debug_info\0.debug_line\0"sv;

std::uint32_t name_of(std::string_view section) { return static_cast<std::uint32_t>(kNames.find(section)); }

class FileWriter {
 public:
  FileWriter() : bytes_(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr)) {}

  std::uint64_t append(const void* bytes, std::size_t size, std::size_t align) {
    while (bytes_.size() % align != 0) bytes_.push_back(0);
    const std::uint64_t at = bytes_.size();
    bytes_.resize(at + size);
    if (size != 0) std::memcpy(bytes_.data() + at, bytes, size);
    return at;
  }
  template <class T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

std::vector<Elf64_Sym> make_symbols(std::span<const CodeName> names, std::string& strings) {
  std::vector<Elf64_Sym> symbols(1);
  strings.assign(1, '\0');
  for (const CodeName& name : names) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<Elf64_Word>(strings.size());
    symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
    symbol.st_shndx = kText;
    symbol.st_value = name.begin;
    symbol.st_size = name.size;
    symbols.push_back(symbol);
    strings += name.name;
    strings += '\0';
  }
  return symbols;
}

Elf64_Ehdr make_header(std::uint64_t sections_at) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_shoff = sections_at;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;
  return header;
}

Elf64_Shdr make_section(std::string_view name, std::uint32_t type, std::uint64_t flags, Address address,
                        std::uint64_t offset, std::uint64_t size) {
  Elf64_Shdr section{};
  section.sh_name = name_of(name);
  section.sh_type = type;
  section.sh_flags = flags;
  section.sh_addr = address;
  section.sh_offset = offset;
  section.sh_size = size;
  section.sh_addralign = 8;
  return section;
}

Elf64_Phdr make_segment(std::uint64_t offset, Address address, std::uint64_t in_file, std::uint64_t in_memory,
                        std::uint32_t rights) {
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = rights;
  segment.p_offset = offset;
  segment.p_vaddr = segment.p_paddr = address;
  segment.p_filesz = in_file;
  segment.p_memsz = in_memory;
  segment.p_align = 1;
  return segment;
}
}  // namespace

std::vector<std::uint8_t> make_symbol_file(std::uint64_t code_size, std::span<const CodeName> names,
                                           std::span<const std::uint8_t> frames, Address frames_at,
                                           const CodeLines* lines) {
  FileWriter file;
  std::string strings;
  const std::vector<Elf64_Sym> symbols = make_symbols(names, strings);
  const std::uint64_t frames_offset = file.append(frames.data(), frames.size(), 8);
  const std::uint64_t symbols_offset = file.append(symbols.data(), symbols.size() * sizeof(Elf64_Sym), 8);
  const std::uint64_t strings_offset = file.append(strings.data(), strings.size(), 1);
  const std::uint64_t names_offset = file.append(kNames.data(), kNames.size(), 1);
  std::array<Elf64_Shdr, kSections> sections{};
  sections[kText] = make_section(".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, 0, frames_offset, code_size);
  sections[kFrames] =
      make_section(".eh_frame", SHT_PROGBITS, SHF_ALLOC, frames_at, frames_offset, frames.size());
  sections[kSymbols] =
      make_section(".symtab", SHT_SYMTAB, 0, 0, symbols_offset, symbols.size() * sizeof(Elf64_Sym));
  sections[kSymbols].sh_link = kStrings;
  sections[kSymbols].sh_info = static_cast<Elf64_Word>(symbols.size());
  sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  sections[kStrings] = make_section(".strtab", SHT_STRTAB, 0, 0, strings_offset, strings.size());
  sections[kSectionNames] = make_section(".shstrtab", SHT_STRTAB, 0, 0, names_offset, kNames.size());
  const auto add_lines = [&](Section section, std::string_view name, const std::vector<std::uint8_t>& bytes) {
    const std::uint64_t at = file.append(bytes.data(), bytes.size(), 8);
    sections[section] = make_section(name, SHT_PROGBITS, 0, 0, at, bytes.size());
  };
  if (lines != nullptr) {
    add_lines(kAbbreviations, ".debug_abbrev", lines->debug_abbrev);
    add_lines(kInfo, ".debug_info", lines->debug_info);
    add_lines(kLines, ".debug_line", lines->debug_line);
  }
  const std::uint64_t sections_at = file.append(sections.data(), sizeof sections, 8);
  file.put(0, make_header(sections_at));
  file.put(sizeof(Elf64_Ehdr), make_segment(0, 0, 0, code_size, PF_R | PF_X));
  file.put(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
           make_segment(frames_offset, frames_at, frames.size(), frames.size(), PF_R));
  return file.take();
}

}  // namespace refhist
