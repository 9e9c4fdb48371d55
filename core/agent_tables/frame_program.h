// Runs the instructions of one entry of call frame information, as far as rsp, rbp, rbx and the return
// address go.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "agent_tables/frame_section.h"

namespace refhist {

/// Where the caller's register is. A register without a word in the instructions is `same`.
struct SavedRegister {
  enum class Kind : std::uint8_t { same, undefined, at_offset, cfa_plus, elsewhere, at_expression };
  Kind kind = Kind::same;
  std::int64_t offset = 0;  ///< from the CFA
  std::string_view expression = {};
};

struct FrameState {
  bool cfa_by_expression = false;
  std::uint64_t cfa_register = 0;
  std::int64_t cfa_offset = 0;
  std::string_view cfa_expression;
  SavedRegister rbp;
  SavedRegister rbx;
  SavedRegister rsp;  ///< `same`: it is the CFA, as the ABI has it
  SavedRegister rip;
};

class FrameProgram {
 public:
  FrameProgram(const FrameSection& section, const FrameEntry& entry);

  /// Goes to the next row; false after the last one, and where an instruction is malformed (`failed`).
  bool next();
  [[nodiscard]] Address begin() const { return begin_; }
  [[nodiscard]] Address end() const { return end_; }
  [[nodiscard]] const FrameState& state() const { return state_; }
  [[nodiscard]] bool failed() const { return failed_ || in_.failed(); }

 private:
  void run_until_advance();
  void run_one();
  void run_extended(std::uint8_t operation);
  void run_cfa(std::uint8_t operation);
  void advance(Address to);
  void set(std::uint64_t number, SavedRegister saved);
  void restore(std::uint64_t number);
  SavedRegister* followed(std::uint64_t number, FrameState& state) const;
  std::string_view block() { return in_.take(in_.uleb()); }
  std::int64_t factored() { return static_cast<std::int64_t>(in_.uleb()) * common_.data_factor; }
  std::int64_t factored_signed() { return in_.sleb() * common_.data_factor; }

  const FrameSection& section_;
  const FrameEntry& entry_;
  const FrameCommon& common_;
  ByteReader in_;
  FrameState state_;
  FrameState initial_;
  std::vector<FrameState> remembered_;
  Address begin_ = 0;
  Address end_ = 0;  // where the next row begins
  bool advanced_ = false;
  bool failed_ = false;
};

}  // namespace refhist
