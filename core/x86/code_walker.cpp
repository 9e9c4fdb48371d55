#include "x86/code_walker.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "x86/instruction_effects.h"
#include "x86/known_functions.h"
#include "x86/machine_state.h"

namespace refhist {
namespace {

constexpr unsigned kDeepestCall = 3;
constexpr unsigned kInstructionBudget = 30000;
constexpr unsigned kShareOfCall =
    8;  // a call may use up one eighth of what is left, so that the caller is seen whole
constexpr unsigned kVisitsEach = 2;

/// One walk from one function, with everything it calls.
class Walk {
 public:
  Walk(const FunctionIndex& index, ValueTable& values, FunctionFacts& facts)
      : index_(index), values_(values), facts_(facts) {}

  /// Walks one activation; gives the result when every way out returns the same known value.
  Value activation(const CodePlace& start, const MachineState& entry, unsigned depth);

 private:
  struct Pending {
    Address address;
    MachineState state;
  };
  /// The function that is being walked.
  struct Frame {
    const Module* module;
    unsigned depth;
    std::map<Address, unsigned> visits;
    std::vector<Pending> pending;
    std::vector<Value> results;
  };

  void run(Frame& frame, Address address, MachineState state);
  /// False when the path ends here.
  bool step(Frame& frame, const DecodedInstruction& instruction, MachineState& state, Address& next);
  static void branch(Frame& frame, const DecodedInstruction& instruction, const MachineState& state);
  bool jump(Frame& frame, const DecodedInstruction& instruction, MachineState& state, Address& next);
  bool call_instruction(Frame& frame, const DecodedInstruction& instruction, MachineState& state);
  /// False when the callee never returns.
  bool call(std::string_view name, const std::optional<CodePlace>& target, MachineState& state,
            unsigned depth);
  static std::optional<CodePlace> direct_target(const Frame& frame, const DecodedInstruction& instruction);
  std::string_view imported_through(const Module& module, std::optional<Address> slot) const;
  /// The import's name when a PLT stub stands at the place.
  std::string_view stub_import(const CodePlace& place);
  void add_known(const KnownAddition& addition, const MachineState& state, unsigned depth);

  void note_use(const DecodedInstruction& instruction, const MachineState& state);
  void note_use(const Value& used, const MachineState& state);

  const FunctionIndex& index_;
  ValueTable& values_;
  FunctionFacts& facts_;
  unsigned budget_ = kInstructionBudget;
  std::vector<Address> active_;
};

Value Walk::activation(const CodePlace& start, const MachineState& entry, unsigned depth) {
  Frame frame{start.module, depth, {}, {}, {}};
  active_.push_back(start.address);
  frame.pending.push_back({start.address, entry});
  while (!frame.pending.empty()) {
    Pending pending = std::move(frame.pending.back());
    frame.pending.pop_back();
    run(frame, pending.address, std::move(pending.state));
  }
  active_.pop_back();
  if (depth == 0) facts_.results = frame.results;
  // Prefer a result that says something: the other ways out are mostly errors that return 0.
  for (const Value& result : frame.results) {
    if (result.known() && !values_.is_constant(result)) return result;
  }
  return values_.fresh();
}

void Walk::run(Frame& frame, Address address, MachineState state) {
  DecodedInstruction instruction;
  for (;;) {
    if (budget_ == 0 || ++frame.visits[address] > kVisitsEach) return;
    --budget_;
    if (!read_instruction(*frame.module, address, instruction)) return;
    Address next = instruction.next();
    if (!step(frame, instruction, state, next)) return;
    address = next;
  }
}

bool Walk::step(Frame& frame, const DecodedInstruction& instruction, MachineState& state, Address& next) {
  switch (instruction.raw.meta.category) {
    case ZYDIS_CATEGORY_RET:
      frame.results.push_back(state.reg(0));
      return false;
    case ZYDIS_CATEGORY_COND_BR:
      branch(frame, instruction, state);
      return true;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return jump(frame, instruction, state, next);
    case ZYDIS_CATEGORY_CALL:
      return call_instruction(frame, instruction, state);
    default:
      break;
  }
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  if (mnemonic == ZYDIS_MNEMONIC_UD2 || mnemonic == ZYDIS_MNEMONIC_HLT || mnemonic == ZYDIS_MNEMONIC_INT3) {
    return false;
  }
  note_use(instruction, state);
  InstructionEffects(values_, facts_, frame.depth, frame.module).execute(instruction, state);
  return true;
}

void Walk::note_use(const DecodedInstruction& instruction, const MachineState& state) {
  if (state.handed_over().empty() || instruction.raw.mnemonic == ZYDIS_MNEMONIC_LEA) return;
  for (unsigned i = 0; i < instruction.raw.operand_count_visible; ++i) {
    if (instruction.operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    note_use(state.address_of(instruction.operands[i], instruction.next()), state);
  }
}

void Walk::note_use(const Value& used, const MachineState& state) {
  for (const std::size_t call : state.handed_over()) {
    if (used.known() && used.place == facts_.calls[call].first.place) facts_.calls[call].used_after = true;
  }
}

void Walk::branch(Frame& frame, const DecodedInstruction& instruction, const MachineState& state) {
  if (const auto target = direct_target(frame, instruction)) {
    frame.pending.push_back({target->address, state});
  }
}

bool Walk::jump(Frame& frame, const DecodedInstruction& instruction, MachineState& state, Address& next) {
  const auto target = direct_target(frame, instruction);
  const std::string_view import =
      target ? stub_import(*target) : imported_through(*frame.module, instruction.rip_target());
  const std::string_view name = !import.empty() ? import : target ? index_.name_at(*target) : "";
  const bool tail_call = !name.empty() || !target;
  if (!tail_call) {
    next = target->address;
    return true;
  }
  // A jump to another function: a call whose result is ours. A jump through a table of a switch looks alike
  // and only adds a call without a name.
  const auto place = import.empty() ? target : index_.exported(import);
  if (call(name, place, state, frame.depth + 1)) frame.results.push_back(state.reg(0));
  return false;
}

bool Walk::call_instruction(Frame& frame, const DecodedInstruction& instruction, MachineState& state) {
  const auto target = direct_target(frame, instruction);
  const std::string_view import =
      target ? stub_import(*target) : imported_through(*frame.module, instruction.rip_target());
  if (!import.empty()) return call(import, index_.exported(import), state, frame.depth + 1);
  const std::string_view name = target ? index_.name_at(*target) : "";
  return call(name, target, state, frame.depth + 1);
}

std::optional<CodePlace> Walk::direct_target(const Frame& frame, const DecodedInstruction& instruction) {
  const auto target = instruction.branch_target();
  return target ? std::optional(CodePlace{frame.module, *target}) : std::nullopt;
}

std::string_view Walk::imported_through(const Module& module, std::optional<Address> slot) const {
  return slot ? index_.import_at({&module, *slot}) : std::string_view();
}

std::string_view Walk::stub_import(const CodePlace& place) {
  return imported_through(*place.module, stub_slot(*place.module, place.address));
}

bool Walk::call(std::string_view name, const std::optional<CodePlace>& target, MachineState& state,
                unsigned depth) {
  if (ends_the_path(name)) return false;
  facts_.calls.push_back({std::string(name), !target && name.empty(), state.reg(7), false, depth});
  const std::size_t fact = facts_.calls.size() - 1;
  note_use(state.reg(7), state);
  if (const auto addition = known_addition(name)) {
    add_known(*addition, state, depth);
    state.return_from_call(values_.fresh());
    return true;
  }
  const bool follow = target && depth <= kDeepestCall && budget_ > 0 &&
                      std::find(active_.begin(), active_.end(), target->address) == active_.end();
  Value result = values_.fresh();
  if (follow) {
    MachineState entry = state;
    entry.push(Value{});
    const unsigned kept = budget_ - budget_ / kShareOfCall;
    budget_ -= kept;
    result = activation(*target, entry, depth);
    budget_ += kept;
  }
  if (values_.root_argument(facts_.calls[fact].first) != 0) state.hand_over(fact);
  state.return_from_call(result);
  return true;
}

void Walk::add_known(const KnownAddition& addition, const MachineState& state, unsigned depth) {
  std::int64_t delta = addition.delta;
  if (addition.times_argument_2) {
    const Value by = state.reg(6);
    if (!values_.is_constant(by)) return;
    delta *= as_signed(by.offset, addition.size);
  }
  InstructionEffects(values_, facts_, depth).changed(state.reg(7), delta, addition.size);
}

}  // namespace

FunctionFacts CodeWalker::walk(const CodePlace& function, ValueTable& values) const {
  FunctionFacts facts;
  Walk(index_, values, facts).activation(function, MachineState(values), 0);
  return facts;
}

}  // namespace refhist
