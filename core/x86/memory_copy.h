// Instructions that copy more than one word of memory: by a vector register, or as much as a register says.
#pragma once

#include <cstdint>
#include <optional>

#include "x86/decoded_instruction.h"

namespace refhist {

/// The number of a vector register, whatever its width.
std::optional<unsigned> vector_number(ZydisRegister name);
std::optional<unsigned> vector_number(const ZydisDecodedOperand& operand);
/// A move between a vector register and memory.
bool loads_vector(const DecodedInstruction& instruction);
/// Words of 8 bytes that such a move stores; 0 for other instructions.
std::int64_t stored_words(const DecodedInstruction& instruction);
/// `rep movsq` and the like: from where rsi points to where rdi does.
bool copies_block(const DecodedInstruction& instruction);

}  // namespace refhist
