#include "agent_host/frame_writer.h"

#include <dwarf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace refhist {

namespace {
constexpr std::uint8_t kPcRelative = 0x1b;  // DW_EH_PE_pcrel | DW_EH_PE_sdata4
constexpr std::uint8_t kDataAlign = 0x78;   // -8
constexpr std::uint8_t kReturnColumn = 16;
constexpr std::array<unsigned, 6> kCalleeSaved{kRbx, kRbp, kR12, kR13, kR14, kR15};
constexpr std::size_t kBeginAt = 8;  // of the address in an entry

template <class T>
T load(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void store(std::vector<std::uint8_t>& bytes, std::size_t at, std::uint32_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}
}  // namespace

FrameWriter::FrameWriter(Reader reader, Address place, std::span<const std::uint8_t> agent_frames,
                         Address agent_place)
    : reader_(reader), place_(place), bytes_(agent_frames.begin(), agent_frames.end()) {
  // The agent's frames name their code relative to where they lie.
  const auto moved = static_cast<std::uint32_t>(agent_place - place);
  std::size_t at = 0;
  while (at + sizeof(std::uint32_t) <= bytes_.size()) {
    const auto length = load<std::uint32_t>(bytes_, at);
    if (length == 0) break;
    if (load<std::uint32_t>(bytes_, at + 4) != 0) {
      const auto begin = static_cast<std::int32_t>(load<std::uint32_t>(bytes_, at + kBeginAt) + moved);
      store(bytes_, at + kBeginAt, static_cast<std::uint32_t>(begin));
      agent_functions_.emplace_back(place_ + at + kBeginAt + static_cast<Address>(std::int64_t{begin}),
                                    load<std::uint32_t>(bytes_, at + kBeginAt + sizeof begin));
    }
    at += length + 4;
  }
  bytes_.resize(at);
  common_ = bytes_.size();
  word(0);  // length, later
  word(0);  // this is a CIE
  for (const unsigned part : {1U, unsigned{'z'}, unsigned{'R'}, 0U, 1U, unsigned{kDataAlign},
                              unsigned{kReturnColumn}, 1U, unsigned{kPcRelative}, unsigned{DW_CFA_def_cfa},
                              unsigned{kRsp}, 8U, unsigned{DW_CFA_offset} | kReturnColumn, 1U}) {
    bytes_.push_back(static_cast<std::uint8_t>(part));
  }
  pad(common_);
}

void FrameWriter::word(std::uint32_t value) {
  bytes_.resize(bytes_.size() + sizeof value);
  store(bytes_, bytes_.size() - sizeof value, value);
}

void FrameWriter::leb(std::uint64_t value) {
  do {
    const auto low = static_cast<std::uint8_t>(value & 0x7fU);
    value >>= 7U;
    bytes_.push_back(value != 0 ? low | 0x80U : low);
  } while (value != 0);
}

void FrameWriter::pad(std::size_t begin) {
  while ((bytes_.size() - begin) % 8 != 0) bytes_.push_back(DW_CFA_nop);
  store(bytes_, begin, static_cast<std::uint32_t>(bytes_.size() - begin - 4));
}

void FrameWriter::begin_entry(Address begin, Address end) {
  entry_ = bytes_.size();
  word(0);
  word(static_cast<std::uint32_t>(bytes_.size() - common_));
  word(static_cast<std::uint32_t>(begin - (place_ + bytes_.size())));
  word(static_cast<std::uint32_t>(end - begin));
  leb(0);
  at_ = 0;
  first_row_ = true;
}

void FrameWriter::end_entry() { pad(entry_); }

void FrameWriter::advance(std::uint32_t offset) {
  if (offset == at_) return;
  bytes_.push_back(DW_CFA_advance_loc4);
  word(offset - at_);
  at_ = offset;
}

// LLDB restores to what the first row says, which may have saved registers.
void FrameWriter::untouched(unsigned reg) {
  if (!first_row_saves_) {
    bytes_.push_back(static_cast<std::uint8_t>(DW_CFA_restore | reg));
    return;
  }
  bytes_.push_back(DW_CFA_same_value);
  leb(reg);
}

// LLDB goes by the instructions of a function and not by its rows, and gets lost in a stub: unless the first
// row has the return address elsewhere than at CFA - 8, or says so in other words.
void FrameWriter::return_address(unsigned base, std::uint64_t cfa) {
  if (reader_ != Reader::debugger) return;
  if (at_ != 0) {
    if (!first_row_) return;
    first_row_ = false;
    bytes_.push_back(DW_CFA_offset | kReturnColumn);
    leb(1);
    return;
  }
  bytes_.push_back(DW_CFA_expression);
  leb(kReturnColumn);
  const std::size_t length = bytes_.size();
  bytes_.insert(bytes_.end(), {0, static_cast<std::uint8_t>(DW_OP_breg0 + base), 0, DW_OP_plus_uconst});
  leb(cfa - 8);
  bytes_[length] = static_cast<std::uint8_t>(bytes_.size() - length - 1);
}

void FrameWriter::plain_row(const FrameRow& row, const Stub& stub) {
  constexpr std::uint64_t kAboveFramePointer = 16;
  advance(row.offset);
  bytes_.push_back(DW_CFA_def_cfa);
  const bool before_entry = row.offset < stub.at_entry;
  const bool by_frame_pointer = stub.by_frame_pointer || (before_entry && stub.start.framed);
  const unsigned base = by_frame_pointer ? kRbp : kRsp;
  const std::uint64_t cfa = by_frame_pointer ? kAboveFramePointer : static_cast<std::uint64_t>(row.cfa);
  leb(base);
  leb(cfa);
  return_address(base, cfa);
  for (const unsigned reg : kCalleeSaved) untouched(reg);
  for (const PushedRegister& reg : before_entry ? stub.start.pushed : stub.pushed) {
    if (std::find(kCalleeSaved.begin(), kCalleeSaved.end(), reg.number) == kCalleeSaved.end()) continue;
    bytes_.push_back(static_cast<std::uint8_t>(DW_CFA_offset | reg.number));
    leb(static_cast<std::uint64_t>(reg.below_cfa) / 8);
  }
}

void FrameWriter::original_row(const UnwindRule& rule) {
  if (rule.cfa_by_expression) return;
  bytes_.push_back(DW_CFA_def_cfa);
  leb(rule.cfa_register);
  leb(static_cast<std::uint64_t>(rule.cfa_offset));
  return_address(rule.cfa_register, static_cast<std::uint64_t>(rule.cfa_offset));
  for (const unsigned reg : kCalleeSaved) {
    const RegisterRule& saved = rule.registers[reg];
    if (saved.kind == RegisterRule::Kind::at_cfa_offset && saved.offset < 0) {
      bytes_.push_back(static_cast<std::uint8_t>(DW_CFA_offset | reg));
      leb(static_cast<std::uint64_t>(-saved.offset / 8));
    } else {
      untouched(reg);
    }
  }
}

void FrameWriter::add(const Stub& stub, const OriginalRule& original) {
  begin_entry(stub.begin, stub.end);
  first_row_saves_ = !stub.start.empty();
  const auto plain_rows = [&](std::uint32_t first, std::uint32_t last) {
    for (const FrameRow& row : stub.rows) {
      if (first <= row.offset && row.offset < last) plain_row(row, stub);
    }
  };
  plain_rows(0, stub.relocated);
  for (const auto& [offset, from] : stub.boundaries) {
    const UnwindRule* rule = original(from);
    if (rule == nullptr) continue;
    advance(offset);
    original_row(*rule);
  }
  plain_rows(stub.relocated_end, UINT32_MAX);
  end_entry();
}

std::vector<std::uint8_t> FrameWriter::finish() const {
  std::vector<std::uint8_t> bytes = bytes_;
  bytes.resize(bytes.size() + sizeof(std::uint32_t));
  return bytes;
}

}  // namespace refhist
