#include "sites/indirect_functions.h"

#include <algorithm>
#include <optional>
#include <set>

#include "x86/decoded_instruction.h"

namespace refhist {

namespace {

/// `lea reg, [rip + x]`, or `mov reg, x` in a program that is not position-independent.
std::optional<Address> address_taken(const DecodedInstruction& instruction) {
  if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_LEA) return instruction.rip_target();
  const ZydisDecodedOperand& to = instruction.operands[0];
  const ZydisDecodedOperand& from = instruction.operands[1];
  const bool constant = instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV &&
                        to.type == ZYDIS_OPERAND_TYPE_REGISTER && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  return constant ? std::optional<Address>(from.imm.value.u) : std::nullopt;
}

}  // namespace

std::vector<FunctionExtent> functions_to_choose(const Module& module, const ModuleCode& code,
                                                const FunctionSymbol& resolver) {
  const CodeRange body = code.request(resolver.address, resolver.size).function;
  std::set<Address> targets;
  const InstructionDecoder decoder;
  DecodedInstruction instruction;
  for (Address at = body.address; decoder.decode(body, at, instruction); at = instruction.next()) {
    const auto target = address_taken(instruction);
    const bool function = target && *target != resolver.address &&
                          std::binary_search(code.starts().begin(), code.starts().end(), *target);
    if (function) targets.insert(*target);
  }
  for (const FunctionSymbol& symbol : module.functions()) {
    if (symbol.ifunc && targets.contains(symbol.address)) return {};  // that one chooses in turn
  }
  std::vector<FunctionExtent> functions;
  for (const Address target : targets) {
    const std::uint64_t size = code.function_at(target).bytes.size();
    if (size != 0) functions.push_back({target, size});
  }
  return functions;
}

}  // namespace refhist
