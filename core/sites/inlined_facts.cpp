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

/// Distance from the object, what is added or stored there, bytes.
using Cell = std::tuple<std::int64_t, std::int64_t, std::uint8_t>;

/// How many copies tell a fact. Copies that tell none have no vote: the compiler moves their store elsewhere,
/// or lets several copies share one call.
template <typename Fact>
class Votes {
 public:
  void add(const std::set<Fact>& told) {
    voters_ += told.empty() ? 0 : 1;
    for (const Fact& fact : told) ++times_[fact];
  }
  [[nodiscard]] std::vector<Fact> majority() const {
    std::vector<Fact> facts;
    for (const auto& [fact, times] : times_) {
      if (times * 2 > voters_) facts.push_back(fact);
    }
    return facts;
  }

 private:
  std::size_t voters_ = 0;
  std::map<Fact, std::size_t> times_;
};

/// Where the operand may lie, counted from the object: its register holds the object, or what the register
/// was made from, or what the debug information says.
std::set<std::int64_t> distances(const MemoryChange& change, const InlinedCopy& copy) {
  const CounterInstruction& instruction = change.instruction;
  std::set<std::int64_t> found{instruction.displacement,
                               instruction.displacement + change.distance.value_or(0)};
  if (copy.parameters.empty()) return found;
  for (const ParameterValue& value : copy.parameters.front()) {
    if (!value.slot && value.range.contains(instruction.address) &&
        value.reg == std::optional<unsigned>(instruction.base))
      found.insert(instruction.displacement - value.offset);
  }
  return found;
}

/// What an `add` of a constant adds: a counter above bits of flags does not go by ones.
std::int64_t added_by(const CounterInstruction& instruction) {
  const bool constant = instruction.kind == CounterInstruction::Kind::add &&
                        instruction.source == CounterInstruction::kNoRegister;
  if (!constant) return 0;
  return instruction.negative ? -instruction.constant : instruction.constant;
}

class CopyFacts {
 public:
  CopyFacts(const Module& module, const std::string& function) : module_(module), changes_(module) {
    const auto signature = module.inlined_signature(function);
    if (signature && !signature->parameters.empty()) type_ = signature->parameters.front().pointee;
  }

  void look_at(const InlinedCopy& copy) {
    std::set<Cell> steps;
    std::set<Cell> stores;
    for (const FileRange& range : copy.ranges) {
      for (const MemoryChange& change : changes_.around(range)) {
        if (range.contains(change.instruction.address)) look_at(change, copy, steps, stores);
      }
    }
    steps_.add(steps);
    stores_.add(stores);
  }
  [[nodiscard]] std::vector<Cell> steps() const { return steps_.majority(); }
  [[nodiscard]] std::vector<Cell> stores() const { return stores_.majority(); }

 private:
  void look_at(const MemoryChange& change, const InlinedCopy& copy, std::set<Cell>& steps,
               std::set<Cell>& stored) const {
    const CounterInstruction& instruction = change.instruction;
    const std::int64_t delta =
        change.exchanged_step.value_or(instruction.told_step.value_or(added_by(instruction)));
    const bool stores = instruction.kind == CounterInstruction::Kind::store && !instruction.opaque;
    const auto value = instruction.source == CounterInstruction::kNoRegister
                           ? std::optional(instruction.constant)
                           : change.stored;
    const bool sets = stores && value;
    if (change.zero_side != 0 || (delta == 0 && !sets) || instruction.base == kStackPointer ||
        instruction.base == CounterInstruction::kNoRegister)
      return;
    for (const std::int64_t distance : distances(change, copy)) {
      if (!is_inside(distance)) continue;
      if (delta != 0) steps.emplace(distance, delta, instruction.size);
      if (sets) stored.emplace(distance, *value, instruction.size);
    }
  }
  [[nodiscard]] bool is_inside(std::int64_t distance) const {
    if (type_.empty() || distance == 0) return true;
    return distance > 0 && !module_.member_at(type_, static_cast<std::uint64_t>(distance)).path.empty();
  }

  const Module& module_;
  MemoryChanges changes_;
  std::string type_;  // of the object; empty: not known
  Votes<Cell> steps_;
  Votes<Cell> stores_;
};

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
  CopyFacts facts(module, function);
  Votes<std::string> frees;
  for (const InlinedCopy& copy : module.inlined_copies(function)) {
    facts.look_at(copy);
    frees.add(frees_in(copy, module, index));
  }
  WalkedFunction walked;
  const auto at = [&](std::int64_t distance) {
    Value cell = walked.values.argument(1);
    cell.offset = distance;
    return cell;
  };
  for (const auto& [distance, delta, size] : facts.steps())
    walked.facts.changes.push_back({at(distance), delta, size});
  for (const auto& [distance, value, size] : facts.stores())
    walked.facts.stores.push_back({at(distance), value, size});
  for (const std::string& name : frees.majority()) {
    CallFact call;
    call.callee = name;
    call.first = at(0);
    walked.facts.calls.push_back(call);
  }
  return walked;
}

}  // namespace refhist
