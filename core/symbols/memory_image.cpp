#include "symbols/memory_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

namespace refhist {

namespace {

constexpr std::size_t kPiece = 64 * kPage;
constexpr std::uint64_t kLargestImage = std::uint64_t{512} << 20;
constexpr std::size_t kMostSymbols = std::size_t{1} << 24;

class ImageReader {
 public:
  ImageReader(const WholeReader& read, Address base) : read_(read), base_(base) {}

  std::optional<MemoryImage> run() {
    if (!read_headers() || !copy_segments() || !read_dynamic()) return std::nullopt;
    append_sections();
    return std::move(image_);
  }

 private:
  bool read_headers() {
    if (!read_(base_, &header_, sizeof header_)) return false;
    const bool fits = std::memcmp(header_.e_ident, ELFMAG, SELFMAG) == 0 &&
                      header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_machine == EM_X86_64 &&
                      header_.e_phentsize == sizeof(Elf64_Phdr) && header_.e_phnum != 0;
    if (!fits) return false;
    programs_.resize(header_.e_phnum);
    if (!read_(base_ + header_.e_phoff, programs_.data(), programs_.size() * sizeof(Elf64_Phdr)))
      return false;
    const auto first = std::find_if(programs_.begin(), programs_.end(),
                                    [](const Elf64_Phdr& p) { return p.p_type == PT_LOAD; });
    if (first == programs_.end() || (first->p_offset & ~(kPage - 1)) != 0) return false;
    image_.bias = base_ - (first->p_vaddr & ~(kPage - 1));
    return true;
  }

  /// What is unreadable (a page that is protected) stays zero.
  void copy(Address from, std::uint8_t* to, std::size_t size) {
    for (std::size_t done = 0; done < size;) {
      const std::size_t piece = std::min(kPiece, size - done);
      if (!read_(from + done, to + done, piece)) {
        for (std::size_t at = 0; at < piece; at += kPage)
          read_(from + done + at, to + done + at, std::min(static_cast<std::size_t>(kPage), piece - at));
      }
      done += piece;
    }
  }

  bool copy_segments() {
    std::uint64_t size = 0;
    std::uint64_t all = 0;  // segments that overlap would have their bytes read again and again
    for (const Elf64_Phdr& p : programs_) {
      if (p.p_type != PT_LOAD) continue;
      if (p.p_offset > kLargestImage || p.p_filesz > kLargestImage) return false;
      size = std::max(size, p.p_offset + p.p_filesz);
      all += p.p_filesz;
      if (all > kLargestImage) return false;
    }
    image_.bytes.resize(size);
    for (const Elf64_Phdr& p : programs_) {
      if (p.p_type == PT_LOAD) copy(image_.bias + p.p_vaddr, image_.bytes.data() + p.p_offset, p.p_filesz);
    }
    return size >= sizeof header_;
  }

  [[nodiscard]] std::optional<std::uint64_t> offset_of(Address address) const {
    for (const Elf64_Phdr& p : programs_) {
      if (p.p_type == PT_LOAD && address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
        return p.p_offset + (address - p.p_vaddr);
    }
    return std::nullopt;
  }

  template <class T>
  [[nodiscard]] std::optional<T> value_at(Address address) const {
    const auto offset = offset_of(address);
    T value{};
    if (!offset || *offset + sizeof value > image_.bytes.size()) return std::nullopt;
    std::memcpy(&value, image_.bytes.data() + *offset, sizeof value);
    return value;
  }

  /// glibc makes the pointers of the dynamic section absolute, other linkers leave them as they are in the
  /// file.
  [[nodiscard]] Address file_address(Address pointer) const {
    return offset_of(pointer) ? pointer : pointer - image_.bias;
  }

  bool read_dynamic() {
    const auto dynamic = std::find_if(programs_.begin(), programs_.end(),
                                      [](const Elf64_Phdr& p) { return p.p_type == PT_DYNAMIC; });
    if (dynamic == programs_.end()) return false;
    std::map<std::int64_t, std::uint64_t> tags;
    for (Address at = dynamic->p_vaddr; at < dynamic->p_vaddr + dynamic->p_memsz; at += sizeof(Elf64_Dyn)) {
      const auto entry = value_at<Elf64_Dyn>(at);
      if (!entry || entry->d_tag == DT_NULL) break;
      tags.emplace(entry->d_tag, entry->d_un.d_val);
    }
    if (!tags.contains(DT_SYMTAB) || !tags.contains(DT_STRTAB)) return false;
    symbols_ = file_address(tags[DT_SYMTAB]);
    strings_ = file_address(tags[DT_STRTAB]);
    strings_size_ = tags[DT_STRSZ];
    symbol_count_ = tags.contains(DT_HASH)
                        ? value_at<std::uint32_t>(file_address(tags[DT_HASH]) + 4).value_or(0)
                        : count_by_gnu_hash(file_address(tags[DT_GNU_HASH]));
    return offset_of(symbols_) && offset_of(strings_) && symbol_count_ != 0;
  }

  /// The last symbol of the chain that begins last. Layout: buckets, first hashed symbol, size of the filter
  /// in words of 8 bytes, shift; then filter, buckets, and a word per symbol whose lowest bit ends a chain.
  [[nodiscard]] std::size_t count_by_gnu_hash(Address table) const {
    const auto buckets = value_at<std::uint32_t>(table);
    const auto first = value_at<std::uint32_t>(table + 4);
    const auto filter = value_at<std::uint32_t>(table + 8);
    if (!buckets || !first || !filter || *buckets > kMostSymbols) return 0;
    const Address bucket = table + 16 + Address{8} * *filter;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < *buckets; ++i) {
      const auto begin = value_at<std::uint32_t>(bucket + Address{4} * i);
      if (!begin) return 0;  // so many do not lie in the image
      last = std::max(last, *begin);
    }
    if (last < *first) return *first;
    const Address chain = bucket + Address{4} * *buckets;
    while (last < kMostSymbols) {
      const auto word = value_at<std::uint32_t>(chain + Address{4} * (last - *first));
      if (!word) return 0;
      ++last;
      if ((*word & 1) != 0) return last;
    }
    return 0;
  }

  static Elf64_Shdr section(std::uint32_t name, std::uint32_t type, Address address, std::uint64_t offset,
                            std::uint64_t size) {
    Elf64_Shdr header{};
    header.sh_name = name;
    header.sh_type = type;
    header.sh_flags = address == 0 ? 0 : SHF_ALLOC;
    header.sh_addr = address;
    header.sh_offset = offset;
    header.sh_size = size;
    header.sh_addralign = 8;
    return header;
  }

  void append_sections() {
    static constexpr std::string_view kNames{"\0.dynsym\0.dynstr\0.shstrtab\0", 27};
    std::vector<std::uint8_t>& bytes = image_.bytes;
    const std::uint64_t names = bytes.size();
    bytes.insert(bytes.end(), kNames.begin(), kNames.end());
    bytes.resize((bytes.size() + 7) & ~std::size_t{7});
    const std::uint64_t symbols = *offset_of(symbols_);
    const std::uint64_t strings = *offset_of(strings_);
    const std::uint64_t symbols_size =
        std::min<std::uint64_t>(symbol_count_, (names - symbols) / sizeof(Elf64_Sym)) * sizeof(Elf64_Sym);
    std::vector<Elf64_Shdr> sections(4);
    sections[1] = section(1, SHT_DYNSYM, symbols_, symbols, symbols_size);
    sections[1].sh_link = 2;
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    sections[2] = section(9, SHT_STRTAB, strings_, strings, std::min(strings_size_, names - strings));
    sections[3] = section(17, SHT_STRTAB, 0, names, kNames.size());
    header_.e_shoff = bytes.size();
    header_.e_shentsize = sizeof(Elf64_Shdr);
    header_.e_shnum = static_cast<Elf64_Half>(sections.size());
    header_.e_shstrndx = 3;
    const auto* raw = reinterpret_cast<const std::uint8_t*>(sections.data());
    bytes.insert(bytes.end(), raw, raw + sections.size() * sizeof(Elf64_Shdr));
    std::memcpy(bytes.data(), &header_, sizeof header_);
  }

  const WholeReader& read_;
  Address base_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> programs_;
  MemoryImage image_;
  Address symbols_ = 0;  // file addresses
  Address strings_ = 0;
  std::uint64_t strings_size_ = 0;
  std::size_t symbol_count_ = 0;
};

}  // namespace

std::optional<MemoryImage> read_memory_image(const WholeReader& read, Address base) {
  return ImageReader(read, base).run();
}

}  // namespace refhist
