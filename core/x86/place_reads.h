// Whether a function will still read what some registers and words of its frame hold: whether they are live,
// as compilers say. What it holds and never reads again is only left over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "symbols/module_map.h"
#include "x86/clobbered_registers.h"
#include "x86/code_graph.h"
#include "x86/decoded_instruction.h"

namespace refhist {

/// Of one frame, at one instruction.
struct FramePlaces {
  std::uint32_t registers = 0;       ///< bit N: the register with DWARF's number N
  std::set<std::int64_t> words;      ///< of 8 bytes, from what the stack pointer is there
  std::optional<std::int64_t> base;  ///< what rbp holds, from there, if that is an address in the frame
  bool result = true;                ///< the function may return what rax holds
  bool two_results = false;          ///< and rdx
  /// Bytes: who takes an address of the frame may read what lies so far above it.
  std::int64_t reach = 32;
  [[nodiscard]] bool empty() const { return registers == 0 && words.empty(); }
  auto operator<=>(const FramePlaces&) const = default;
};

class PlaceReads {
 public:
  explicit PlaceReads(CodeGraph& graph) : graph_(graph) {}

  /// On some way from `begin` (an address in the file) one of the places is read before it gets something
  /// else. Also true where the code cannot be followed.
  bool any(const Module& module, Address begin, const FramePlaces& places);
  /// Registers that the call before `return_pc` (an address in the file) leaves alone, beside those that
  /// every function does; bits as in FramePlaces.
  std::uint32_t kept_by_call(const Module& module, Address return_pc);

 private:
  class Walk;
  ClobberedRegisters& clobbered(const Module& module);

  CodeGraph& graph_;
  std::map<const Module*, ClobberedRegisters> clobbered_;
  std::map<std::tuple<const Module*, Address, FramePlaces>, bool> known_;
};

}  // namespace refhist
