// Instructions of a module's code, read from its file.
#pragma once

#include <optional>

#include "symbols/module.h"
#include "x86/decoded_instruction.h"

namespace refhist {

/// False when no whole instruction stands at the address.
bool read_instruction(const Module& module, Address address, DecodedInstruction& out);

/// The GOT slot through which a PLT stub at the address jumps; nothing when no stub stands there.
std::optional<Address> stub_slot(const Module& module, Address address);

}  // namespace refhist
