#include "agent_host/code_lines.h"

#include <dwarf.h>

#include <string_view>

namespace refhist {

namespace {

constexpr std::string_view kName{"refhist\0", 8};

class SectionWriter {
 public:
  void bytes(std::initializer_list<unsigned> values) {
    for (const unsigned value : values) bytes_.push_back(static_cast<std::uint8_t>(value));
  }
  void number(std::uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> 8 * i));
  }
  void text(std::string_view text) { bytes_.insert(bytes_.end(), text.begin(), text.end()); }
  void leb(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes({static_cast<unsigned>(value & 0x7fU) | 0x80U});
    bytes({static_cast<unsigned>(value)});
  }
  /// Place for how much follows it; `close` fills it in.
  std::size_t open_length() {
    number(0, 4);
    return bytes_.size();
  }
  void close_length(std::size_t begin) {
    const std::uint64_t length = bytes_.size() - begin;
    for (unsigned i = 0; i < 4; ++i) bytes_[begin - 4 + i] = static_cast<std::uint8_t>(length >> 8 * i);
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

constexpr unsigned kVersion = 4;
constexpr unsigned kAddressSize = 8;

std::vector<std::uint8_t> make_abbreviations() {
  SectionWriter section;
  section.bytes({1, DW_TAG_compile_unit, DW_CHILDREN_no});
  section.bytes(
      {DW_AT_name, DW_FORM_string, DW_AT_language, DW_FORM_data1, DW_AT_stmt_list, DW_FORM_sec_offset});
  section.bytes({DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8, 0, 0, 0});
  return section.take();
}

std::vector<std::uint8_t> make_unit(Address begin, Address end) {
  SectionWriter section;
  const std::size_t length = section.open_length();
  section.number(kVersion, 2);
  section.number(0, 4);  // its abbreviations
  section.bytes({kAddressSize, 1});
  section.text(kName);
  section.bytes({DW_LANG_C});
  section.number(0, 4);  // its lines
  section.number(begin, kAddressSize);
  section.number(end - begin, kAddressSize);
  section.close_length(length);
  return section.take();
}

// One row for all of it: so a debugger comes to the middle of a line.
std::vector<std::uint8_t> make_lines(Address begin, Address end, DebuggerPort::PassedLine line) {
  constexpr unsigned kMinusOne = 0x7f;  // as LEB128
  const bool zero = line == DebuggerPort::PassedLine::zero;
  SectionWriter section;
  const std::size_t length = section.open_length();
  section.number(kVersion, 2);
  const std::size_t header = section.open_length();
  section.bytes({1, 1, zero ? 1U : 0U, 0xfb, 14, DW_LNS_set_isa + 1});
  section.bytes({0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1});  // operands of the standard opcodes
  section.bytes({0});                                   // no folders
  section.text(kName);
  section.bytes({0, 0, 0, 0});
  section.close_length(header);
  section.bytes({0, 1 + kAddressSize, DW_LNE_set_address});
  section.number(begin, kAddressSize);
  if (zero) section.bytes({DW_LNS_advance_line, kMinusOne});
  section.bytes({DW_LNS_copy, DW_LNS_advance_pc});
  section.leb(end - begin);
  section.bytes({0, 1, DW_LNE_end_sequence});
  section.close_length(length);
  return section.take();
}

}  // namespace

CodeLines make_code_lines(Address begin, Address end, DebuggerPort::PassedLine line) {
  return {make_abbreviations(), make_unit(begin, end), make_lines(begin, end, line)};
}

}  // namespace refhist
