#include "patching/module_code.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace refhist {
namespace {

// The header of .eh_frame_hdr in the one form that linkers write: version 1, a table of 4-byte numbers
// relative to the header's own address.
struct FrameTableHeader {
  std::uint8_t version;
  std::uint8_t frame_encoding;
  std::uint8_t count_encoding;
  std::uint8_t table_encoding;
  std::int32_t frame;
  std::uint32_t count;
};
struct FrameTableRow {
  std::int32_t start;
  std::int32_t description;
};
constexpr std::uint8_t kUdata4 = 0x03;
constexpr std::uint8_t kDatarelSdata4 = 0x3b;

std::vector<Elf64_Phdr> program_headers(const Module& module) {
  for (const Segment& segment : module.segments()) {
    Elf64_Ehdr header;
    if (segment.file_offset != 0 || !module.read_code(segment.address, &header, sizeof header)) continue;
    std::vector<Elf64_Phdr> programs(header.e_phnum);
    if (module.read_code(segment.address + header.e_phoff, programs.data(),
                         programs.size() * sizeof(Elf64_Phdr)))
      return programs;
  }
  return {};
}

}  // namespace

ModuleCode::ModuleCode(const Module& module, Address bias) : bias_(bias) {
  const std::vector<Elf64_Phdr> programs = program_headers(module);
  for (const Segment& segment : module.segments()) {
    std::vector<std::uint8_t> bytes(segment.file_size);
    if (bytes.empty() || !module.read_code(segment.address, bytes.data(), bytes.size())) continue;
    bytes_.push_back(std::move(bytes));
    (segment.executable ? code_ : data_).push_back({segment.address + bias, bytes_.back()});
    if (!segment.executable) blank_sizes(segment, programs);
  }
  for (const FunctionSymbol& function : module.functions()) starts_.push_back(function.address + bias);
  for (const Elf64_Phdr& program : programs) {
    if (program.p_type == PT_GNU_EH_FRAME) read_frame_table(module, program.p_vaddr, program.p_memsz);
  }
  std::sort(starts_.begin(), starts_.end());
  starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
}

// In a small program the size of a segment is the address of an instruction as well.
void ModuleCode::blank_sizes(const Segment& segment, const std::vector<Elf64_Phdr>& programs) {
  std::vector<std::uint8_t>& bytes = bytes_.back();
  const auto blank = [&](Address first, std::uint64_t size) {
    if (first < segment.address || first - segment.address >= bytes.size()) return;
    const std::size_t offset = first - segment.address;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), std::min(size, bytes.size() - offset),
                0);
  };
  if (segment.file_offset == 0 && !programs.empty()) {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    blank(segment.address, header.e_phoff + programs.size() * sizeof(Elf64_Phdr));
  }
  for (const Elf64_Phdr& program : programs) {
    if (program.p_type == PT_DYNAMIC) blank(program.p_vaddr, program.p_filesz);
  }
}

void ModuleCode::read_frame_table(const Module& module, Address table, std::uint64_t size) {
  FrameTableHeader header;
  if (size < sizeof header || !module.read_code(table, &header, sizeof header)) return;
  if (header.version != 1 || header.count_encoding != kUdata4 || header.table_encoding != kDatarelSdata4)
    return;
  const std::size_t room = (size - sizeof header) / sizeof(FrameTableRow);
  std::vector<FrameTableRow> rows(std::min<std::size_t>(header.count, room));
  if (!module.read_code(table + sizeof header, rows.data(), rows.size() * sizeof(FrameTableRow))) return;
  for (const FrameTableRow& row : rows) {
    starts_.push_back(table + static_cast<Address>(static_cast<std::int64_t>(row.start)) + bias_);
  }
}

CodeRange ModuleCode::function_at(Address address) const {
  for (const CodeRange& range : code_) {
    CodeRange rest = range.from(address);
    if (rest.bytes.empty()) continue;
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), address);
    if (next != starts_.end() && *next < rest.end()) rest.bytes = rest.bytes.first(*next - address);
    return rest;
  }
  return {address, {}};
}

CodeRange ModuleCode::data_at(Address address) const {
  for (const CodeRange& range : data_) {
    if (range.contains(address)) return range.from(address);
  }
  return {address, {}};
}

PatchRequest ModuleCode::request(Address function, std::uint64_t size) const {
  PatchRequest request{function_at(function), {}, {}};
  auto& bytes = request.function.bytes;
  if (size != 0 && size < bytes.size()) {
    request.after = bytes.subspan(size);
    bytes = bytes.first(size);
  }
  return request;
}

}  // namespace refhist
