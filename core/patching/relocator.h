// The covered instructions of a patch, made to run at another address with the same effect.
//
// - Displacements of rip-relative operands, branches and calls are written anew for the new address. Short
// branches
//   become long ones; loop and jrcxz, which have no long form, jump to a long jump.
// - A call pushes its return address in the stub. Callees that look at theirs (`call next; pop`) are never
// planned; what
//   remains is the very rare function that asks from which module it was called (dlsym with RTLD_NEXT) or
//   profiles (mcount), as first thing in its caller.
// - Branches among the covered instructions stay in the stub; one that goes back to the first of them goes to
// the
//   patched place, and so counts again, as it would with a breakpoint there.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "patching/patch.h"

namespace refhist {

constexpr unsigned kJumpSize = 5;

struct Relocated {
  std::vector<std::uint8_t> bytes;
  /// Offset in `bytes` -> offset from Patch::function, for each instruction. The registers and the stack are
  /// there what they are at the original place, so a thread can be put from one to the other, and the call
  /// frame information of the one holds for the other. The offset of an expanded loop or jrcxz whose branch
  /// is taken is that of its target, which may lie before the function (modulo 2^32).
  std::vector<std::pair<std::uint32_t, std::uint32_t>> boundaries;
};

/// Nothing, and a reason, when something is more than 2 GiB away from the stub.
std::optional<Relocated> relocate(const Patch& patch, Address stub, std::string* why_not);

/// `jmp to`, to be written at `from`; the two are less than 2 GiB apart.
std::array<std::uint8_t, kJumpSize> jump_bytes(Address from, Address to);

}  // namespace refhist
