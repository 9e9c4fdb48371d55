#include "x86/import_slots.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

namespace refhist {
namespace {

void read_relocations(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
                      std::unordered_map<Address, std::string>& slots) {
  Elf_Scn* symbol_section = elf_getscn(elf, header.sh_link);
  GElf_Shdr symbol_header;
  if (symbol_section == nullptr || gelf_getshdr(symbol_section, &symbol_header) == nullptr) return;
  Elf_Data* relocations = elf_getdata(section, nullptr);
  Elf_Data* symbols = elf_getdata(symbol_section, nullptr);
  if (relocations == nullptr || symbols == nullptr || header.sh_entsize == 0) return;
  const int count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Rela relocation;
    GElf_Sym symbol;
    if (gelf_getrela(relocations, i, &relocation) == nullptr) continue;
    const auto type = GELF_R_TYPE(relocation.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
    const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
    if (gelf_getsym(symbols, index, &symbol) == nullptr) continue;
    const char* name = elf_strptr(elf, symbol_header.sh_link, symbol.st_name);
    if (name != nullptr && *name != '\0') slots.emplace(relocation.r_offset, name);
  }
}

}  // namespace

std::unordered_map<Address, std::string> read_import_slots(const std::string& path) {
  std::unordered_map<Address, std::string> slots;
  elf_version(EV_CURRENT);
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return slots;
  if (Elf* elf = elf_begin(file, ELF_C_READ, nullptr)) {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) != nullptr && header.sh_type == SHT_RELA) {
        read_relocations(elf, section, header, slots);
      }
    }
    elf_end(elf);
  }
  close(file);
  return slots;
}

}  // namespace refhist
