#include "kernel/kernel_file.h"

#include <algorithm>
#include <array>

#include "symbols/elf_file.h"

namespace refhist {

namespace {
constexpr std::string_view kBanner = "Linux version ";
constexpr std::size_t kLongestBanner = 256;

// Assembly that calls C and that nothing calls.
constexpr std::array<std::string_view, 8> kEntries = {
    "entry_SYSCALL_64", "entry_SYSENTER_compat", "entry_SYSCALL_compat",           "entry_INT80_compat",
    "ret_from_fork",    "ret_from_fork_asm",     "secondary_startup_64_no_verify", "secondary_startup_64"};
// Their symbols have no type, so that they pass for no functions.
void add_entries(const ElfFile& file, std::vector<FileRange>& entries) {
  Elf_Scn* const section = file.section_of_type(SHT_SYMTAB);
  GElf_Shdr header;
  if (section == nullptr || gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) return;
  Elf_Data* const table = elf_getdata(section, nullptr);
  if (table == nullptr) return;
  for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(table, static_cast<int>(i), &symbol) == nullptr || symbol.st_size == 0) continue;
    const char* name = elf_strptr(file.elf(), header.sh_link, symbol.st_name);
    if (name != nullptr && std::find(kEntries.begin(), kEntries.end(), name) != kEntries.end())
      entries.push_back({symbol.st_value, symbol.st_value + symbol.st_size});
  }
}
}  // namespace

bool is_kernel(const Module& module) {
  const auto& segments = module.segments();
  const bool high = std::any_of(segments.begin(), segments.end(), [](const Segment& segment) {
    return segment.executable && segment.address >= kKernelHalf;
  });
  return high && module.data_symbol("linux_banner") && module.data_symbol("init_task");
}

std::optional<FileRange> notes_of_kernel(const Module& module) {
  for (const ElfFile* file : module.files()) {
    if (const auto notes = file->section(".notes"))
      return FileRange{notes->address, notes->address + notes->bytes.size()};
  }
  return std::nullopt;
}

std::string banner_of_file(const Module& module) {
  const auto at = module.data_symbol("linux_banner");
  std::string banner(kLongestBanner, '\0');
  if (!at || !module.read_code(*at, banner.data(), banner.size())) return {};
  banner.resize(std::min(banner.size(), banner.find('\0')));
  return banner;
}

std::string release_in(std::string_view banner) {
  if (!banner.starts_with(kBanner)) return {};
  banner.remove_prefix(kBanner.size());
  return std::string(banner.substr(0, banner.find_first_of(std::string_view(" \n\0", 3))));
}

std::vector<FileRange> stack_ends(const Module& module) {
  std::vector<FileRange> ends;
  for (const ElfFile* file : module.files()) {
    add_entries(*file, ends);
    if (!ends.empty()) break;
  }
  return ends;
}

}  // namespace refhist
