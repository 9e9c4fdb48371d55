// The first instructions of a function, as far as what they do can be taken back: then everything is as when
// it was called.
//
// They save registers, make room and store arguments. What they have put below the stack pointer may stay
// there: they run once more, with the same registers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "port/registers.h"
#include "x86/code_range.h"

namespace refhist {

/// A register of the caller's that the function has pushed before the patch.
struct PushedRegister {
  unsigned number = 0;         ///< DWARF's
  std::int32_t below_cfa = 0;  ///< bytes
  bool operator==(const PushedRegister&) const = default;
};

struct FunctionStart {
  struct Step {
    unsigned end = 0;        ///< of the instruction, from the first one
    std::int32_t depth = 0;  ///< bytes that rsp lies lower behind it
  };
  std::vector<std::uint8_t> code;
  std::vector<Step> steps;
  std::vector<PushedRegister> pushed;  ///< in this order
  std::int32_t room = 0;               ///< bytes that rsp was lowered by behind the pushes
  bool framed = false;  ///< rbp points at where the caller's was pushed, from the second one on

  [[nodiscard]] bool empty() const { return code.empty(); }
  using ReadWord = std::function<bool(Address address, Address& word)>;
  /// Of a thread that has `left` bytes of it to run: what the registers were before it. False when the stack
  /// is not readable, or no instruction ends there.
  bool take_back(unsigned left, Registers& registers, const ReadWord& read) const;
};

/// The instructions from `begin` to `end`, when they are all of this kind.
std::optional<FunctionStart> read_function_start(const CodeRange& function, Address begin, Address end);
/// Where a function that builds a frame at `begin` has stored its arguments; nothing when it builds none.
std::optional<Address> end_of_stored_arguments(const CodeRange& function, Address begin);
/// Behind `push rbp; mov rbp, rsp`; nothing when that is not there.
std::optional<Address> end_of_frame(const CodeRange& function, Address begin);

}  // namespace refhist
