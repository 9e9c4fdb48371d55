// Which instructions may follow one another in some pieces of a function.
#pragma once

#include <functional>
#include <vector>

#include "symbols/module.h"
#include "x86/decoded_instruction.h"

namespace refhist {

class CodeWays {
 public:
  enum class Answer : std::uint8_t { go_on, no_further, found };

  /// Outside of the ranges nothing is followed.
  CodeWays(const Module& module, const std::vector<FileRange>& ranges) : module_(module), ranges_(ranges) {}

  /// `look` is asked of each instruction that may come after `begin`, that one included; jumps and what
  /// stands behind calls are followed. True when it has found something, or when the code cannot be followed.
  [[nodiscard]] bool any_from(Address begin,
                              const std::function<Answer(const DecodedInstruction&)>& look) const;

 private:
  [[nodiscard]] const FileRange* range_of(Address at) const;

  const Module& module_;
  const std::vector<FileRange>& ranges_;
};

}  // namespace refhist
