#include <algorithm>

#include "analysis/untaken_keeps.h"
#include "base/system_path.h"
#include "x86/code_jumps.h"
#include "x86/known_functions.h"
#include "x86/taken_arguments.h"

// Puts of what the function that makes them has only borrowed.
namespace refhist {

namespace {

constexpr int kMostLending = 5;  // of calls by which what lends may take a reference after all
constexpr int kMostRead = 3;     // of calls that a function that only reads may make

bool stores_elsewhere(const DecodedInstruction& instruction) {
  return std::any_of(
      instruction.operands.begin(), instruction.operands.begin() + instruction.raw.operand_count_visible,
      [](const ZydisDecodedOperand& to) {
        return to.type == ZYDIS_OPERAND_TYPE_MEMORY && (to.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 &&
               to.mem.base != ZYDIS_REGISTER_RSP && to.mem.base != ZYDIS_REGISTER_RBP;
      });
}

}  // namespace

bool UntakenKeeps::only_reads(const CodeGraph::Function& function, int depth) {
  if (only_looks(function.symbol.name)) return true;
  if (depth == 0 || is_system_path(function.module->path())) return looks_up(function.symbol.name);
  const FileRange range = function.symbol.range();
  const auto reads = [&](const CodeGraph::Function& called) {
    return ends_the_path(called.symbol.name) || only_reads(called, depth - 1);
  };
  DecodedInstruction instruction;
  for (Address at = range.begin; at < range.end; at = instruction.next()) {
    if (!read_instruction(*function.module, at, instruction) || stores_elsewhere(instruction)) return false;
    if (!instruction.is_call() && !instruction.is_jump() && !instruction.is_branch()) continue;
    const auto target = instruction.entered();
    if (!target) return false;
    if (range.contains(*target)) continue;
    const auto entered = graph_.entered_at(*function.module, *target);
    if (entered.empty() || !std::all_of(entered.begin(), entered.end(), reads)) return false;
  }
  return true;
}

// Whether a library's function takes one, its events tell.
bool UntakenKeeps::lends(FamilyId family, const CodeGraph::Function& function) {
  if (is_system_path(function.module->path())) return looks_up(function.symbol.name);
  return !takes_inside(family, function, kMostLending) && only_reads(function, kMostRead);
}

bool UntakenKeeps::is_borrowed(const Module& module, const KeepWalk& walk, const KeepWalk::Kept& kept) {
  if (kept.from != KeepWalk::Kept::From::result) return true;
  const auto target = walk.called_before(kept.behind);
  const std::string called = target ? name_at(module, *target) : std::string();
  return kept.filled ? lends_out(called) : looks_up(called);
}

bool UntakenKeeps::gives_argument_on_some_ways(FamilyId family, const Function& function, unsigned argument) {
  const Module& module = function.loaded->module->code();
  const auto symbol = module.function_at(function.begin);
  const auto signature = symbol ? module.signature(*symbol) : std::nullopt;
  // The last one is what a callback was registered with.
  if (!signature || argument >= signature->parameters.size()) return false;
  auto walk = walk_of(family, function);
  if (!walk) return false;
  const bool some = walk->leaves_alone(argument);
  steps_ += walk->steps();
  return some;
}

std::optional<UntakenKeeps::Borrowed> UntakenKeeps::read_borrowed(FamilyId family, const Function& function,
                                                                  Address put) {
  using How = Borrowed::How;
  using From = KeepWalk::Origin::From;
  const Module& module = function.loaded->module->code();
  auto walk = walk_of(family, function);
  if (!walk) return std::nullopt;
  const auto given = walk->given(put);
  steps_ += walk->steps();
  if (!given) return std::nullopt;
  if (given->handed_over) return Borrowed{How::handed_over, called_before(module, *given->handed_over)};
  if (given->again) return Borrowed{How::again, {}};
  if (given->owned || !given->lent) return std::nullopt;
  if (given->from == From::argument && gives_argument_on_some_ways(family, function, given->argument))
    return Borrowed{How::from_caller, {}};
  const auto called = given->from == From::result ? walk->called_before(given->behind) : std::nullopt;
  if (!called) return std::nullopt;
  const auto entered = graph_.entered_at(module, *called);
  const bool lent = !entered.empty() && std::all_of(entered.begin(), entered.end(),
                                                    [&](const auto& one) { return lends(family, one); });
  return lent ? std::optional(Borrowed{How::lent, demangle(entered.front().symbol.name)}) : std::nullopt;
}

std::optional<UntakenKeeps::Borrowed> UntakenKeeps::borrowed(FamilyId family, const LoadedModule& loaded,
                                                             Address put) {
  know_sites();
  const Module& module = loaded.module->code();
  const auto [known, added] = borrowed_.try_emplace({family, &module, put});
  const auto function = added ? module.function_at(put - 1) : std::nullopt;
  if (function) known->second = read_borrowed(family, {&loaded, function->address}, put);
  return known->second;
}

std::optional<bool> UntakenKeeps::uses_given(FamilyId family, const LoadedModule& loaded, Address put,
                                             Address use) {
  know_sites();
  const auto function = loaded.module->code().function_at(put - 1);
  if (!function || !function->range().contains(use - 1)) return std::nullopt;
  auto walk = walk_of(family, {&loaded, function->address});
  if (!walk) return std::nullopt;
  const auto same = walk->uses_given(put, use);
  steps_ += walk->steps();
  return same;
}

}  // namespace refhist
