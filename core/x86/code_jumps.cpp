#include "x86/code_jumps.h"

#include <algorithm>
#include <functional>

#include "x86/instruction.h"

namespace refhist {

namespace {

constexpr std::uint64_t kLargestFunction = std::uint64_t{1} << 20;  // bytes; more is not worth the time

/// Calls `visit` for every instruction from `begin` on. False when one could not be read before `end`.
bool each(const Module& module, Address begin, Address end,
          const std::function<void(const DecodedInstruction&)>& visit) {
  DecodedInstruction instruction;
  for (Address at = begin; at < end; at = instruction.next()) {
    if (!read_instruction(module, at, instruction)) return false;
    visit(instruction);
  }
  return true;
}

std::optional<std::int64_t> slot(const DecodedInstruction& instruction) {
  const ZydisDecodedOperand& to = instruction.operands[0];
  const bool through = (instruction.is_call() || instruction.is_jump()) &&
                       to.type == ZYDIS_OPERAND_TYPE_MEMORY && to.mem.base != ZYDIS_REGISTER_NONE &&
                       to.mem.base != ZYDIS_REGISTER_RIP && to.mem.index == ZYDIS_REGISTER_NONE;
  return through ? std::optional<std::int64_t>(to.mem.disp.value) : std::nullopt;
}

bool may_jump(const DecodedInstruction& instruction) {
  return instruction.is_jump() || instruction.is_branch();
}

}  // namespace

JumpsOut jumps_out_of(const Module& module, const FunctionSymbol& function) {
  JumpsOut jumps;
  const Address end = function.address + function.size;
  if (function.size == 0 || function.size > kLargestFunction) return {{}, {}, true};
  const bool whole = each(module, function.address, end, [&](const DecodedInstruction& instruction) {
    if (!may_jump(instruction)) return;
    const auto target = instruction.branch_target();
    if (!target) {
      jumps.through_pointer.push_back(instruction.next());
    } else if (*target < function.address || *target >= end) {
      jumps.targets.push_back(*target);
    }
  });
  jumps.unread = !whole;
  std::sort(jumps.targets.begin(), jumps.targets.end());
  jumps.targets.erase(std::unique(jumps.targets.begin(), jumps.targets.end()), jumps.targets.end());
  return jumps;
}

std::optional<Address> behind_jump_to(const Module& module, const FunctionSymbol& function, Address target) {
  std::optional<Address> behind;
  if (function.size > kLargestFunction) return behind;
  each(module, function.address, function.address + function.size,
       [&](const DecodedInstruction& instruction) {
         if (!behind && may_jump(instruction) && instruction.branch_target() == target)
           behind = instruction.next();
       });
  return behind;
}

std::vector<Address> calls_out_of(const Module& module, const FunctionSymbol& function, FileRange range) {
  std::vector<Address> targets;
  const Address end = function.address + function.size;
  if (function.size > kLargestFunction) return targets;
  each(module, function.address, end, [&](const DecodedInstruction& instruction) {
    const bool call = instruction.is_call();
    if (!range.contains(instruction.address) || (!call && !may_jump(instruction))) return;
    const auto target = instruction.branch_target();
    if (target && (*target < function.address || *target >= end)) targets.push_back(*target);
  });
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

std::unordered_map<Address, Address> direct_calls(const Module& module, const FunctionSymbol& function) {
  std::unordered_map<Address, Address> calls;
  const Address end = function.address + std::min(function.size, kLargestFunction);
  each(module, function.address, end, [&](const DecodedInstruction& instruction) {
    const auto target = instruction.is_call() ? instruction.branch_target() : std::nullopt;
    if (target) calls.emplace(instruction.next(), *target);
  });
  return calls;
}

std::optional<Address> direct_call_before(const Module& module, const FunctionSymbol& function,
                                          Address return_pc) {
  if (return_pc <= function.address || return_pc - function.address > kLargestFunction) return std::nullopt;
  // From the beginning: the five bytes before a return address may look like a call and be none.
  std::optional<Address> target;
  each(module, function.address, return_pc, [&](const DecodedInstruction& instruction) {
    const bool returns_there = instruction.next() == return_pc && instruction.is_call();
    target = returns_there ? instruction.branch_target() : std::nullopt;
  });
  return target;
}

std::optional<std::int64_t> slot_before(const Module& module, const FunctionSymbol& function,
                                        Address behind) {
  if (behind <= function.address || behind - function.address > kLargestFunction) return std::nullopt;
  std::optional<std::int64_t> found;
  each(module, function.address, behind, [&](const DecodedInstruction& instruction) {
    found = instruction.next() == behind ? slot(instruction) : std::nullopt;
  });
  return found;
}

std::optional<std::int64_t> slot_of(const Module& module, Address at) {
  DecodedInstruction instruction;
  return read_instruction(module, at, instruction) ? slot(instruction) : std::nullopt;
}

}  // namespace refhist
