// The file stays mapped, so opening even a huge one costs a few pages. But whoever makes a mapped file
// shorter ends the debugger (SIGBUS), and a compiler or `cp` does so with the program that is being debugged:
// what lies outside of the system's folders is read as a whole, as long as it is not huge. Its descriptor
// stays open only where libdw needs it (to find alternative and split debug files beside this one): a process
// can have hundreds of modules, and the debugger has descriptors of its own to hold.
#include "symbols/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/system_path.h"

namespace refhist {

namespace {

std::string hex(const unsigned char* bytes, std::size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

constexpr off_t kMostRead = 256 << 20;  // bytes

Elf* begin_file(int file, const std::string& path, off_t size) {
  if (is_system_path(path) || size > kMostRead) return elf_begin(file, ELF_C_READ_MMAP, nullptr);
  Elf* elf = elf_begin(file, ELF_C_READ, nullptr);
  if (elf_kind(elf) == ELF_K_ELF) elf_rawfile(elf, nullptr);
  return elf;
}

std::size_t align4(std::size_t n) { return (n + 3) & ~std::size_t{3}; }

}  // namespace

std::string build_id_in_notes(std::string_view notes) {
  while (notes.size() >= sizeof(GElf_Nhdr)) {
    GElf_Nhdr note;
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::size_t name_size = align4(note.n_namesz);
    const std::size_t size = name_size + align4(note.n_descsz);
    if (name_size > notes.size() || name_size + note.n_descsz > notes.size()) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes.data(), "GNU", 4) == 0) {
      return hex(reinterpret_cast<const unsigned char*>(notes.data() + name_size), note.n_descsz);
    }
    notes.remove_prefix(std::min(size, notes.size()));
  }
  return {};
}

std::unique_ptr<ElfFile> ElfFile::open(const std::string& path) {
  return std::unique_ptr<ElfFile>(new ElfFile(path, {}));
}

std::unique_ptr<ElfFile> ElfFile::from_image(const std::string& name, std::vector<std::uint8_t> image) {
  if (image.empty()) fail("{}: not an ELF file", name);
  return std::unique_ptr<ElfFile>(new ElfFile(name, std::move(image)));
}

ElfFile::ElfFile(std::string path, std::vector<std::uint8_t> image)
    : path_(std::move(path)), image_(std::move(image)) {
  elf_version(EV_CURRENT);
  if (image_.empty()) {
    fd_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd_ < 0) fail("{}: {}", path_, std::strerror(errno));
    struct stat status {};
    if (fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
      close(fd_);
      fail("{}: not a regular file", path_);
    }
    elf_ = begin_file(fd_, path_, status.st_size);
  } else {
    elf_ = elf_memory(reinterpret_cast<char*>(image_.data()), image_.size());
  }
  try {
    check_and_read_headers();
  } catch (...) {
    elf_end(elf_);
    if (fd_ >= 0) close(fd_);
    throw;
  }
  if (fd_ >= 0 && !has_dwarf() && elf_cntl(elf_, ELF_C_FDDONE) == 0) {
    close(fd_);
    fd_ = -1;
  }
}

ElfFile::~ElfFile() {
  elf_end(elf_);
  if (fd_ >= 0) close(fd_);
}

void ElfFile::check_and_read_headers() {
  if (elf_ == nullptr || elf_kind(elf_) != ELF_K_ELF || gelf_getehdr(elf_, &header_) == nullptr) {
    fail("{}: not an ELF file", path_);
  }
  if (header_.e_machine != EM_X86_64 || gelf_getclass(elf_) != ELFCLASS64) {
    fail("{}: not an x86-64 ELF file", path_);
  }
  read_segments();
  read_build_id();
}

void ElfFile::read_segments() {
  std::size_t count = 0;
  elf_getphdrnum(elf_, &count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr phdr;
    if (gelf_getphdr(elf_, static_cast<int>(i), &phdr) == nullptr || phdr.p_type != PT_LOAD) continue;
    segments_.push_back({.address = phdr.p_vaddr,
                         .memory_size = phdr.p_memsz,
                         .file_offset = phdr.p_offset,
                         .file_size = phdr.p_filesz,
                         .writable = (phdr.p_flags & PF_W) != 0,
                         .executable = (phdr.p_flags & PF_X) != 0});
  }
}

void ElfFile::read_build_id() {
  const std::string_view file = contents();
  std::size_t count = 0;
  elf_getphdrnum(elf_, &count);
  for (std::size_t i = 0; i < count && build_id_.empty(); ++i) {
    GElf_Phdr phdr;
    if (gelf_getphdr(elf_, static_cast<int>(i), &phdr) == nullptr || phdr.p_type != PT_NOTE) continue;
    if (phdr.p_offset >= file.size()) continue;
    build_id_ = build_id_in_notes(file.substr(phdr.p_offset, phdr.p_filesz));
  }
  // A separate debug file can have program headers whose offsets mean nothing: its sections are right.
  for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr && build_id_.empty();
       section = elf_nextscn(elf_, section)) {
    GElf_Shdr shdr;
    if (gelf_getshdr(section, &shdr) == nullptr || shdr.sh_type != SHT_NOTE) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data != nullptr && data->d_buf != nullptr) {
      build_id_ = build_id_in_notes({static_cast<const char*>(data->d_buf), data->d_size});
    }
  }
}

std::string_view ElfFile::contents() const {
  std::size_t size = 0;
  const char* bytes = elf_rawfile(elf_, &size);
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
}

std::string ElfFile::interpreter() const {
  std::size_t count = 0;
  elf_getphdrnum(elf_, &count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr phdr;
    if (gelf_getphdr(elf_, static_cast<int>(i), &phdr) == nullptr || phdr.p_type != PT_INTERP) continue;
    const std::string_view file = contents();
    if (phdr.p_offset >= file.size()) return {};
    const std::string_view text = file.substr(phdr.p_offset, phdr.p_filesz);
    return std::string(text.substr(0, text.find('\0')));
  }
  return {};
}

namespace {

Elf_Scn* section_named(Elf* elf, std::string_view name) {
  std::size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr shdr;
    if (gelf_getshdr(section, &shdr) == nullptr || shdr.sh_type == SHT_NOBITS || shdr.sh_size == 0) continue;
    const char* found = elf_strptr(elf, names, shdr.sh_name);
    if (found != nullptr && name == found) return section;
  }
  return nullptr;
}

}  // namespace

bool ElfFile::has_section(std::string_view name) const { return section_named(elf_, name) != nullptr; }

std::optional<SectionBytes> ElfFile::section(std::string_view name) const {
  Elf_Scn* section = section_named(elf_, name);
  GElf_Shdr shdr;
  if (section == nullptr || gelf_getshdr(section, &shdr) == nullptr) return std::nullopt;
  const Elf_Data* data = (shdr.sh_flags & SHF_COMPRESSED) != 0 ? nullptr : elf_rawdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return std::nullopt;
  return SectionBytes{.address = shdr.sh_addr,
                      .bytes = {static_cast<const char*>(data->d_buf), data->d_size}};
}

std::optional<DebugLink> ElfFile::debug_link() const {
  const auto section = this->section(".gnu_debuglink");
  if (!section) return std::nullopt;
  const std::string_view bytes = section->bytes;
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos || end == 0 || align4(end + 1) + 4 > bytes.size()) return std::nullopt;
  DebugLink link{.name = std::string(bytes.substr(0, end))};
  std::memcpy(&link.crc, bytes.data() + align4(end + 1), sizeof link.crc);
  return link;
}

Elf_Scn* ElfFile::section_of_type(std::uint32_t type) const {
  for (Elf_Scn* section = elf_nextscn(elf_, nullptr); section != nullptr;
       section = elf_nextscn(elf_, section)) {
    GElf_Shdr shdr;
    if (gelf_getshdr(section, &shdr) != nullptr && shdr.sh_type == type) return section;
  }
  return nullptr;
}

bool ElfFile::read(Address address, void* out, std::size_t size) const {
  const std::string_view file = contents();
  for (const Segment& segment : segments_) {
    if (address < segment.address || address - segment.address > segment.file_size) continue;
    const std::uint64_t inside = address - segment.address;
    if (size > segment.file_size - inside) continue;
    const std::uint64_t offset = segment.file_offset + inside;
    if (offset > file.size() || size > file.size() - offset) return false;
    std::memcpy(out, file.data() + offset, size);
    return true;
  }
  return false;
}

}  // namespace refhist
