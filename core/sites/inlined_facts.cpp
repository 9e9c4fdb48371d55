#include "sites/inlined_facts.h"

#include <array>
#include <map>
#include <set>
#include <tuple>

#include "sites/memory_changes.h"
#include "x86/known_functions.h"

namespace refhist {

namespace {

constexpr std::uint8_t kStackPointer = 7;  // DWARF's number

/// Distance from the object, what is added there, bytes.
using Step = std::tuple<std::int64_t, std::int64_t, std::uint8_t>;

std::set<Step> steps_in(const InlinedCopy& copy, MemoryChanges& changes) {
  std::set<Step> steps;
  for (const FileRange& range : copy.ranges) {
    for (const MemoryChange& change : changes.around(range)) {
      const CounterInstruction& instruction = change.instruction;
      const bool inside = instruction.address >= range.begin && instruction.address < range.end;
      const std::int64_t delta =
          change.exchanged_step.value_or(instruction.told_step.value_or(instruction.step()));
      if (!inside || delta == 0 || change.zero_side != 0 ||
          instruction.base == CounterInstruction::kNoRegister || instruction.base == kStackPointer)
        continue;
      for (const std::int64_t moved : {std::int64_t{0}, change.distance.value_or(0)})
        steps.emplace(instruction.displacement + moved, delta, instruction.size);
    }
  }
  return steps;
}

/// The name of what is called, through the procedure linkage table as well. Empty: not known.
std::string_view callee(const Module& module, const FunctionIndex& index, Address target) {
  const std::string_view name = index.name_at({&module, target});
  if (!name.empty()) return name;
  std::array<std::uint8_t, 16> stub{};
  if (!module.read_code(target, stub.data(), stub.size())) return {};
  const InstructionDecoder decoder;
  const CodeRange code{target, stub};
  DecodedInstruction instruction;
  for (Address at = target; decoder.decode(code, at, instruction); at = instruction.next()) {
    if (!instruction.is_indirect_jump()) continue;
    const auto slot = instruction.rip_target();
    return slot ? index.import_at({&module, *slot}) : std::string_view();
  }
  return {};
}

std::set<std::string> frees_in(const InlinedCopy& copy, const Module& module, const FunctionIndex& index) {
  std::set<std::string> names;
  const InstructionDecoder decoder;
  for (const FileRange& range : copy.ranges) {
    std::vector<std::uint8_t> bytes(range.end - range.begin);
    if (!module.read_code(range.begin, bytes.data(), bytes.size())) continue;
    const CodeRange code{range.begin, bytes};
    DecodedInstruction instruction;
    for (Address at = range.begin; decoder.decode(code, at, instruction); at = instruction.next()) {
      const bool leaves = instruction.is_call() || instruction.is_jump();
      const auto target = leaves ? instruction.branch_target() : std::nullopt;
      const std::string_view name = target ? callee(module, index, *target) : std::string_view();
      if (!name.empty() && gives_back(name)) names.emplace(name);
    }
  }
  return names;
}

}  // namespace

WalkedFunction facts_of_copies(const Module& module, const FunctionIndex& index,
                               const std::string& function) {
  const std::vector<InlinedCopy> copies = module.inlined_copies(function);
  MemoryChanges changes(module);
  std::map<Step, std::size_t> steps;
  std::map<std::string, std::size_t> frees;
  for (const InlinedCopy& copy : copies) {
    for (const Step& step : steps_in(copy, changes)) ++steps[step];
    for (const std::string& name : frees_in(copy, module, index)) ++frees[name];
  }
  WalkedFunction walked;
  for (const auto& [step, times] : steps) {
    if (times * 2 <= copies.size()) continue;
    CounterChange change;
    change.cell = walked.values.argument(1);
    std::tie(change.cell.offset, change.delta, change.size) = step;
    walked.facts.changes.push_back(change);
  }
  for (const auto& [name, times] : frees) {
    if (times * 2 <= copies.size()) continue;
    CallFact call;
    call.callee = name;
    call.first = walked.values.argument(1);
    walked.facts.calls.push_back(call);
  }
  return walked;
}

}  // namespace refhist
