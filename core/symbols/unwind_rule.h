// How to get from a frame to its caller at one pc, computed once from call frame information.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/types.h"
#include "port/registers.h"

namespace refhist {

/// How far from the entry point code may be and still be taken for the outermost frame where no rule says so
/// (start files of C libraries that have no call frame information).
constexpr Address kStartSize = 64;

/// A register of the caller: where it is found. `expression` holds raw DWARF operation bytes.
struct RegisterRule {
  enum class Kind : std::uint8_t {
    same,
    undefined,
    at_cfa_offset,
    cfa_plus,
    in_register,
    at_expression,
    is_expression
  };
  Kind kind = Kind::same;
  std::int32_t offset = 0;  ///< for at_cfa_offset, cfa_plus
  std::uint8_t source = 0;  ///< for in_register
  std::vector<std::uint8_t> expression;
};

struct UnwindRule {
  bool cfa_by_expression = false;
  std::uint8_t cfa_register = kRsp;
  std::int64_t cfa_offset = 0;
  std::vector<std::uint8_t> cfa_expression;
  std::array<RegisterRule, kRegisterCount> registers;  ///< kRip is the return address
  bool signal_frame = false;
};

}  // namespace refhist
