#include "agent_host/agent_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "agent_host/thread_pointer.h"
#include "base/error.h"

extern "C" {
extern const std::uint8_t refhist_embedded_agent[];
extern const std::uint8_t refhist_embedded_agent_end[];
}

namespace refhist {

namespace {
template <class T>
const T* at(std::span<const std::uint8_t> file, std::uint64_t offset, std::uint64_t count = 1) {
  if (offset > file.size() || count * sizeof(T) > file.size() - offset) fail("the embedded agent is damaged");
  return reinterpret_cast<const T*>(file.data() + offset);
}

const Elf64_Shdr* section_of_type(std::span<const std::uint8_t> file, std::uint32_t type) {
  const auto* header = at<Elf64_Ehdr>(file, 0);
  const auto* sections = at<Elf64_Shdr>(file, header->e_shoff, header->e_shnum);
  const auto* end = sections + header->e_shnum;
  const auto* found = std::find_if(sections, end, [&](const Elf64_Shdr& s) { return s.sh_type == type; });
  return found == end ? nullptr : found;
}

const Elf64_Shdr* section_named(std::span<const std::uint8_t> file, const char* name) {
  const auto* header = at<Elf64_Ehdr>(file, 0);
  const auto* sections = at<Elf64_Shdr>(file, header->e_shoff, header->e_shnum);
  const auto* end = sections + header->e_shnum;
  const auto* found = std::find_if(sections, end, [&](const Elf64_Shdr& section) {
    return std::strcmp(at<char>(file, sections[header->e_shstrndx].sh_offset + section.sh_name), name) == 0;
  });
  return found == end ? nullptr : found;
}

Address symbol(std::span<const std::uint8_t> file, const char* name) {
  const auto* header = at<Elf64_Ehdr>(file, 0);
  const auto* table = section_of_type(file, SHT_SYMTAB);
  if (table == nullptr) fail("the embedded agent has no symbols");
  const auto* names = at<Elf64_Shdr>(file, header->e_shoff, header->e_shnum) + table->sh_link;
  const std::uint64_t count = table->sh_size / sizeof(Elf64_Sym);
  const auto* symbols = at<Elf64_Sym>(file, table->sh_offset, count);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (std::strcmp(at<char>(file, names->sh_offset + symbols[i].st_name), name) == 0)
      return symbols[i].st_value;
  }
  fail("the embedded agent has no {}", name);
}
}  // namespace

std::span<const std::uint8_t> AgentImage::frames() const {
  return std::span(bytes_).subspan(frames_at_, frames_size_);
}

AgentImage::AgentImage() {
  const std::span<const std::uint8_t> file(refhist_embedded_agent, refhist_embedded_agent_end);
  const auto* header = at<Elf64_Ehdr>(file, 0);
  const auto* segments = at<Elf64_Phdr>(file, header->e_phoff, header->e_phnum);
  for (const Elf64_Phdr& segment : std::span(segments, header->e_phnum)) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_memsz != segment.p_filesz) fail("the embedded agent has uninitialised data");
    bytes_.resize(std::max<std::size_t>(bytes_.size(), segment.p_vaddr + segment.p_memsz));
    const auto* contents = at<std::uint8_t>(file, segment.p_offset, segment.p_filesz);
    std::copy_n(contents, segment.p_filesz, bytes_.begin() + static_cast<std::ptrdiff_t>(segment.p_vaddr));
  }
  if (!allows_rdfsbase() && load_thread_pointer(bytes_) == 0)
    fail("the embedded agent does not read the thread pointer as expected");
  if (section_of_type(file, SHT_RELA) != nullptr) fail("the embedded agent needs relocations");
  entry_ = symbol(file, "refhist_agent_entry");
  returned_ = symbol(file, "refhist_agent_return");
  ended_ = symbol(file, "refhist_agent_end");
  attempt_ = symbol(file, "refhist_agent_attempt");
  attempted_ = symbol(file, "refhist_agent_attempted");
  find_object_ = symbol(file, "refhist_agent_find_object");
  prctl_ = symbol(file, "refhist_agent_prctl");
  syscall_ = symbol(file, "refhist_agent_syscall");
  config_ = symbol(file, "refhist_agent_config");
  const Elf64_Shdr* frames = section_named(file, ".eh_frame");
  if (frames == nullptr) fail("the embedded agent has no call frame information");
  frames_at_ = frames->sh_addr;
  frames_size_ = frames->sh_size;
}

const AgentImage& AgentImage::get() {
  static const AgentImage image;
  return image;
}

}  // namespace refhist
