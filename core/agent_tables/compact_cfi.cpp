#include "agent_tables/compact_cfi.h"

#include <dwarf.h>

#include <algorithm>

#include "agent_tables/rule_encoder.h"
#include "symbols/elf_file.h"

namespace refhist {

namespace {

using agent::FrameRule;
using agent::RuleKind;
using agent::RuleRow;

/// Without section headers, .eh_frame is found through its search table; it goes on to the end of its
/// segment.
std::optional<SectionBytes> eh_frame_by_segment(const ElfFile& file) {
  std::size_t count = 0;
  elf_getphdrnum(file.elf(), &count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(file.elf(), static_cast<int>(i), &header) == nullptr) continue;
    if (header.p_type != PT_GNU_EH_FRAME) continue;
    std::uint8_t start[4] = {};
    std::int32_t distance = 0;
    if (!file.read(header.p_vaddr, start, sizeof start) || start[0] != 1 ||
        start[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4) ||
        !file.read(header.p_vaddr + sizeof start, &distance, sizeof distance)) {
      return std::nullopt;
    }
    const Address address = header.p_vaddr + sizeof start + static_cast<Address>(std::int64_t{distance});
    for (const Segment& segment : file.segments()) {
      if (address < segment.address || address - segment.address >= segment.file_size) continue;
      const std::uint64_t inside = address - segment.address;
      if (segment.file_offset + segment.file_size > file.contents().size()) continue;
      return SectionBytes{address,
                          file.contents().substr(segment.file_offset + inside, segment.file_size - inside)};
    }
  }
  return std::nullopt;
}

std::vector<FrameSection> sections_of(const Module& module) {
  std::vector<FrameSection> sections;
  const auto files = module.files();
  auto eh_frame = files.front()->section(".eh_frame");
  if (!eh_frame) eh_frame = eh_frame_by_segment(*files.front());
  if (eh_frame) {
    sections.emplace_back(FrameSection::Kind::eh_frame, eh_frame->address, eh_frame->bytes);
  }
  for (const ElfFile* file : files) {
    const auto debug_frame = file->section(".debug_frame");
    if (!debug_frame) continue;
    sections.emplace_back(FrameSection::Kind::debug_frame, debug_frame->address, debug_frame->bytes);
    break;
  }
  return sections;
}

}  // namespace

CompactCfi::CompactCfi(const Module& module) : entry_point_(module.entry_point()) {
  set_bounds(module);
  const std::vector<FrameSection> sections = sections_of(module);
  std::vector<Piece> pieces;
  for (const FrameSection& section : sections) add_pieces(section, pieces);
  write(pieces);
  if (!needs_rbx()) return;
  with_rbx_ = true;
  rows_.clear();
  unsaid_.clear();
  described_rows_ = described_bytes_ = 0;
  write(pieces);
}

/// Hardly any module has such code; the dynamic linker has.
bool CompactCfi::needs_rbx() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const RuleRow& row) {
    return row.rule.kind() == RuleKind::other && row.rule.other_register() == kRbx;
  });
}

void CompactCfi::set_bounds(const Module& module) {
  Address begin = ~Address{0};
  Address end = 0;
  for (const Segment& segment : module.segments()) {
    begin = std::min(begin, segment.address);
    end = std::max(end, segment.address + segment.memory_size);
  }
  if (begin > end) return;
  base_ = begin & ~(kPage - 1);
  extent_ = std::min<std::uint64_t>(end - base_, 0xffffffff);
}

/// Only where no section before has an entry.
void CompactCfi::add_pieces(const FrameSection& section, std::vector<Piece>& pieces) const {
  const auto known = static_cast<std::ptrdiff_t>(pieces.size());
  const auto covers = [&](Address address) {
    const auto next = std::upper_bound(pieces.begin(), pieces.begin() + known, address,
                                       [](Address a, const Piece& piece) { return a < piece.entry->begin; });
    return next != pieces.begin() && address < std::prev(next)->end;
  };
  for (const FrameEntry& entry : section.entries()) {
    if (entry.begin < base_ || entry.begin - base_ >= extent_ || covers(entry.begin)) continue;
    pieces.push_back({.section = &section, .entry = &entry, .end = entry.end});
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.entry->begin < b.entry->begin; });
  for (std::size_t i = 0; i + 1 < pieces.size(); ++i) {
    pieces[i].end = std::min(pieces[i].end, pieces[i + 1].entry->begin);
  }
}

void CompactCfi::write(const std::vector<Piece>& pieces) {
  Address end = base_;
  for (const Piece& piece : pieces) {
    write_gap(end, piece.entry->begin);
    write_piece(piece);
    end = std::max(end, piece.end);
  }
  write_gap(end, base_ + extent_);
  put(base_ + extent_, {});
}

void CompactCfi::write_piece(const Piece& piece) {
  const bool signal_frame = piece.entry->common->signal_frame;
  Address written = piece.entry->begin;
  for (FrameProgram program(*piece.section, *piece.entry); program.next() && written < piece.end;) {
    const EncodedRule encoded = encode_rule(program.state(), signal_frame, with_rbx_);
    const Address end = std::min(program.end(), piece.end);
    put(written, encoded.rule);
    ++described_rows_;
    described_bytes_ += end - written;
    if (encoded.why_not != nullptr) {
      Unsaid& unsaid = unsaid_[encoded.why_not];
      ++unsaid.rows;
      unsaid.bytes += end - written;
    }
    written = end;
  }
  if (written < piece.end) put(written, {});
}

void CompactCfi::write_gap(Address begin, Address end) {
  if (begin >= end) return;
  put(begin, {});
  if (entry_point_ == 0) return;
  const Address from = std::max(begin, entry_point_);
  const Address to = std::min(end, entry_point_ + kStartSize);
  if (from >= to) return;
  put(from, {static_cast<std::uint32_t>(RuleKind::outermost)});
  if (to < end) put(to, {});
}

void CompactCfi::put(Address begin, FrameRule rule) {
  const auto offset = static_cast<std::uint32_t>(begin - base_);
  if (!rows_.empty() && rows_.back().rule == rule) return;
  if (!rows_.empty() && rows_.back().begin == offset) rows_.pop_back();
  if (rows_.empty() || !(rows_.back().rule == rule)) rows_.push_back({offset, rule});
}

FrameRule CompactCfi::rule(Address address) const {
  if (address < base_ || address - base_ >= extent_) return {};
  const auto next =
      std::upper_bound(rows_.begin(), rows_.end(), address - base_,
                       [](std::uint64_t offset, const RuleRow& row) { return offset < row.begin; });
  return next == rows_.begin() ? FrameRule() : std::prev(next)->rule;
}

std::vector<std::uint32_t> CompactCfi::blocks() const {
  std::vector<std::uint32_t> blocks;
  std::uint32_t row = 0;
  for (std::uint64_t begin = 0; begin < extent_; begin += std::uint64_t{1} << agent::kBlockShift) {
    while (row + 1 < rows_.size() && rows_[row + 1].begin <= begin) ++row;
    blocks.push_back(row);
    if (row + 1 == rows_.size()) break;  // data without code
  }
  return blocks;
}

}  // namespace refhist
