// Call frame information (.eh_frame) for the agent and its stubs, so that debuggers, C++ exceptions and this
// library unwind through them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "agent_host/stub_writer.h"
#include "base/types.h"
#include "symbols/unwind_rule.h"

namespace refhist {

/// The rule of the original function at an offset from its entry; nullptr when there is none.
using OriginalRule = std::function<const UnwindRule*(std::uint32_t offset)>;

class FrameWriter {
 public:
  /// Who unwinds by it: C++ exceptions in the program, this library and its agent; or the debugger, whose
  /// LLDB needs another form of the same.
  enum class Reader { program, debugger };

  /// `place`: where the bytes will lie, relative to the same origin as all addresses given. Begins with the
  /// agent's own frames, which lie at `agent_place` in the agent's image.
  FrameWriter(Reader reader, Address place, std::span<const std::uint8_t> agent_frames, Address agent_place);

  /// Begin and size of the functions that the agent's own frames tell of.
  [[nodiscard]] const std::vector<std::pair<Address, std::uint64_t>>& agent_functions() const {
    return agent_functions_;
  }
  void add(const Stub& stub, const OriginalRule& original);
  /// All of it, with the terminator.
  [[nodiscard]] std::vector<std::uint8_t> finish() const;

 private:
  void word(std::uint32_t value);
  void leb(std::uint64_t value);
  void pad(std::size_t begin);
  void begin_entry(Address begin, Address end);
  void end_entry();
  void advance(std::uint32_t offset);
  void untouched(unsigned reg);
  void return_address(unsigned base, std::uint64_t cfa);
  void plain_row(const FrameRow& row, const Stub& stub);
  void original_row(const UnwindRule& rule);

  Reader reader_;
  Address place_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::pair<Address, std::uint64_t>> agent_functions_;
  std::size_t common_ = 0;  // of our common entry (CIE)
  bool first_row_ = true;
  bool first_row_saves_ = false;  // registers, of the entry that is being written
  std::size_t entry_ = 0;         // of the entry being written
  std::uint32_t at_ = 0;          // offset in the stub that the rows have reached
};

}  // namespace refhist
