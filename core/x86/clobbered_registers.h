// The registers that a call may change. By the calling convention a function may change nine of them, but a
// compiler that has seen the function's code keeps values in those that it leaves alone (-fipa-ra of gcc, on
// by default): behind `item_end(item)` a register still holds the address of the counter.
#pragma once

#include <cstdint>
#include <map>

#include "symbols/module.h"
#include "x86/decoded_instruction.h"

namespace refhist {

class ClobberedRegisters {
 public:
  /// Bit N: the register with DWARF's number N.
  using Set = std::uint32_t;
  static const Set kByConvention;

  explicit ClobberedRegisters(const Module& module) : module_(module) {}

  /// Those that the instruction itself writes.
  static Set written_by(const DecodedInstruction& instruction);
  /// All that the convention allows where not all code of the call is known.
  Set of_call(const DecodedInstruction& call);

 private:
  class Reader;
  Set of_function(Address begin);

  const Module& module_;
  std::map<Address, Set> known_;  // by the address that is called
};

}  // namespace refhist
