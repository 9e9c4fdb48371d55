#include "agent_host/debugger_stops.h"

#include <algorithm>
#include <array>

#include "symbols/elf_file.h"
#include "x86/decoded_instruction.h"
#include "x86/function_start.h"

namespace refhist {

namespace {

constexpr std::array<std::uint8_t, 4> kEndbr64{0xf3, 0x0f, 0x1e, 0xfa};
constexpr Address kLooked = 32;     // bytes; a patch covers less
constexpr Address kLongRows = 256;  // bytes that the first rows of a function take at most

/// The compiler's line in a file that it has written. One that has linked others in has theirs, too.
bool has_clang_code(const Module& module) {
  for (const ElfFile* file : module.files()) {
    const auto comment = file->section(".comment");
    if (comment && comment->bytes.find("clang") != std::string_view::npos) return true;
  }
  return false;
}

/// From the first row of the address that covers the beginning.
std::vector<LineRow> rows_from(const LoadedModule& module, Address begin) {
  const Address at = begin - module.bias;
  std::vector<LineRow> rows;
  for (const LineRow& row : module.module->line_rows({at - kLooked, at + kLongRows}, at)) {
    const bool begins = rows.empty() || row.address != rows.front().address || rows.front().ends_sequence;
    if (row.address <= at && begins) rows.clear();
    rows.push_back(row);
  }
  if (!rows.empty() && (rows.front().address > at || rows.front().ends_sequence)) rows.clear();
  return rows;
}

/// Of several rows of one address LLDB keeps the last, and takes it for the end of a prologue that is empty.
std::vector<LineRow> rows_of_lldb(const std::vector<LineRow>& rows) {
  std::vector<LineRow> kept;
  for (LineRow row : rows) {
    const bool again = !kept.empty() && kept.back().address == row.address && !kept.back().ends_sequence;
    if (again && !row.ends_sequence) {
      row.ends_prologue = row.file == kept.back().file;
      kept.back() = row;
    } else {
      kept.push_back(row);
    }
  }
  return kept;
}

/// As LLDB reads it from the line table. `rows`: from the first one of the function on.
Address end_of_prologue(const std::vector<LineRow>& rows, Address begin, Address end) {
  constexpr std::size_t kMostRows = 6;
  if (rows.size() < 2 || rows.front().ends_prologue) return begin;
  const auto last = rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), kMostRows));
  auto found = std::find_if(rows.begin() + 1, last, [](const LineRow& row) { return row.ends_prologue; });
  if (found == last)
    found = std::find_if(rows.begin() + 1, last,
                         [&](const LineRow& row) { return row.line != rows.front().line; });
  Address stop = found == last ? rows[1].address : found->address;
  // From there, or from the first row, over code of no line.
  const auto lined = std::find_if(found == last ? rows.begin() : found, rows.end(),
                                  [](const LineRow& row) { return row.line != 0; });
  if (lined != rows.end() && lined->address < end) stop = std::max(stop, lined->address);
  return begin < stop && stop < end ? stop : begin;
}

class Lines {
 public:
  Lines(const LoadedModule& module, const CodeRange& function) : module_(module), function_(function) {}

  [[nodiscard]] unsigned at(Address address) const {
    const auto frames = module_.module->source_frames(address - module_.bias);
    return frames.empty() ? 0 : frames.front().line;
  }
  /// Behind `begin`, the first instruction of another line; nothing when it is far away.
  [[nodiscard]] std::optional<Address> next(Address begin) const {
    const unsigned line = at(begin);
    if (line == 0) return std::nullopt;
    const InstructionDecoder decoder;
    for (Address address = begin; address - function_.address < kLooked;) {
      const unsigned length = decoder.length(function_, address);
      if (length == 0) break;
      address += length;
      const unsigned there = function_.contains(address) ? at(address) : line;
      if (there != 0 && there != line) return address;
    }
    return std::nullopt;
  }

 private:
  const LoadedModule& module_;
  const CodeRange& function_;
};

// It looks for a frame in the code, and goes by the lines alone only where clang has made them.
std::vector<Address> stops_of_gdb(const LoadedModule& module, const CodeRange& function) {
  std::vector<Address> stops;
  const auto add = [&](std::optional<Address> stop) {
    if (stop) stops.push_back(*stop);
  };
  const Lines lines(module, function);
  const auto frame = end_of_frame(function, function.address);
  if (frame) {
    constexpr Address kMoveToRbp = 3;
    const bool begins_line = lines.at(*frame) != lines.at(*frame - kMoveToRbp);
    add(begins_line ? frame : lines.next(*frame));
  }
  const bool clang = has_clang_code(*module.module);
  if (!frame && !clang) return stops;
  const auto other_line = lines.next(function.address);
  add(other_line);
  if (!clang || other_line) return stops;
  // All in one line: then it goes by the rows.
  const std::vector<LineRow> rows = rows_from(module, function.address);
  const auto second = std::find_if(rows.begin(), rows.end(),
                                   [&](const LineRow& row) { return row.address != rows.front().address; });
  if (second != rows.end()) stops.push_back(second->address + module.bias);
  return stops;
}

}  // namespace

Address stop_of_lldb(const LoadedModule& module, const CodeRange& function) {
  const std::vector<LineRow> rows = rows_of_lldb(rows_from(module, function.address));
  return end_of_prologue(rows, function.address - module.bias, function.end() - module.bias) + module.bias;
}

std::vector<Address> debugger_stops(const DebuggerPort& port, const LoadedModule& module,
                                    const CodeRange& function) {
  if (!module.module->has_debug_info()) return {};
  if (port.passed_line() == DebuggerPort::PassedLine::zero) return {stop_of_lldb(module, function)};
  std::vector<Address> stops = stops_of_gdb(module, function);
  std::sort(stops.begin(), stops.end());
  stops.erase(std::unique(stops.begin(), stops.end()), stops.end());
  return stops;
}

// LLDB has a breakpoint there, GDB steps by instructions.
std::vector<Address> line_stops(const DebuggerPort& port, const LoadedModule& module, Address instruction) {
  std::vector<Address> stops;
  if (port.passed_line() != DebuggerPort::PassedLine::zero) return stops;
  const Address at = instruction - module.bias;
  for (const LineRow& row : module.module->line_rows({at - kLooked, at + kLooked}, at))
    stops.push_back(row.address + module.bias);
  return stops;
}

std::optional<PrologueEnd> run_to_arguments(const DebuggerPort& port, const LoadedModule& module,
                                            const Registers& at_entry) {
  constexpr std::size_t kLongest = 128;  // bytes: eight arguments, and room
  const Address function = at_entry.pc();
  std::array<std::uint8_t, kLongest> bytes{};
  const bool has_lines = module.module->has_debug_info();
  if (!has_lines || !module.module->read_code(function - module.bias, bytes.data(), bytes.size()))
    return std::nullopt;
  const CodeRange code{function, bytes};
  const bool landing_pad = std::equal(kEndbr64.begin(), kEndbr64.end(), bytes.begin());
  const std::vector<Address> stops =
      debugger_stops(port, module, code.from(function + (landing_pad ? kEndbr64.size() : 0)));
  return run_prologue(code, stops.empty() ? code.end() : stops.back(), at_entry);
}

}  // namespace refhist
