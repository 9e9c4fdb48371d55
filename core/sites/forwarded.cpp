#include "sites/forwarded.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "discover/refcount_evidence.h"
#include "port/registers.h"
#include "x86/code_walker.h"
#include "x86/decoded_instruction.h"

namespace refhist {

namespace {

constexpr std::uint64_t kLongest = 128;  // bytes: whoever only checks an argument is short

bool writes(const DecodedInstruction& instruction, unsigned wanted) {
  for (std::size_t i = 0; i < instruction.raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (!written) continue;
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) return true;  // it does something itself
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && dwarf_number(operand.reg.value) == wanted) return true;
  }
  return false;
}

/// The first jump out of the function on the way that takes no branch, with the argument untouched.
std::optional<Address> last_jump(const Module& module, const FunctionSymbol& function, unsigned argument) {
  std::vector<std::uint8_t> bytes(function.size);
  if (!module.read_code(function.address, bytes.data(), bytes.size())) return std::nullopt;
  const InstructionDecoder decoder;
  const CodeRange code{function.address, bytes};
  DecodedInstruction instruction;
  for (Address at = code.address; decoder.decode(code, at, instruction); at = instruction.next()) {
    if (instruction.is_call()) return std::nullopt;
    const auto target = instruction.branch_target();
    if (!instruction.falls_through()) return target && !code.contains(*target) ? target : std::nullopt;
    if (!target && writes(instruction, kArgumentRegisters[argument - 1])) return std::nullopt;
  }
  return std::nullopt;
}

bool is_step(Role role) { return role == Role::get || role == Role::put; }

}  // namespace

std::optional<Address> forwarded_to(const Module& module, const FunctionSymbol& function,
                                    const ProbeSpec& probe, const MemberPlace& counter,
                                    const CounterSpec& spec) {
  const bool plain = probe.object.from == ObjectSource::From::argument && !probe.object.indirect &&
                     probe.object.adjust == 0 && probe.success == Success::always;
  if (!plain || !is_step(probe.role) || function.size == 0 || function.size > kLongest) return std::nullopt;
  const auto target = last_jump(module, function, probe.object.argument);
  if (!target) return std::nullopt;
  const auto named = module.function_at(*target);
  if (named && named->address == *target) return std::nullopt;
  const std::shared_ptr<const Module> alone(std::shared_ptr<const Module>(), &module);
  const FunctionIndex index({alone});
  WalkedFunction walked;
  walked.facts = CodeWalker(index).walk({&module, *target}, walked.values);
  std::erase_if(walked.facts.changes, [](const CounterChange& change) { return change.depth != 0; });
  CounterEvidence wanted;
  wanted.offset = static_cast<std::int64_t>(counter.offset);
  wanted.step = (probe.role == Role::get ? 1 : -1) * spec.scale;
  return changes_counter(walked, probe.object.argument, wanted) ? target : std::nullopt;
}

}  // namespace refhist
