#include "probes/code_walker.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "probes/known_functions.h"
#include "probes/machine_state.h"

namespace refhist {
namespace {

constexpr unsigned kDeepestCall = 3;
constexpr unsigned kInstructionBudget = 30000;
constexpr unsigned kShareOfCall =
    8;  // a call may use up one eighth of what is left, so that the caller is seen whole
constexpr unsigned kVisitsEach = 2;
constexpr std::size_t kLongestInstruction = 15;

struct Instruction {
  ZydisDecodedInstruction decoded;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  Address address = 0;
  [[nodiscard]] Address next() const { return address + decoded.length; }
};

std::int64_t as_signed(std::int64_t value, unsigned bytes) {
  if (bytes >= 8) return value;
  const unsigned shift = 64 - 8 * bytes;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << shift) >> shift;
}

/// One walk from one function, with everything it calls.
class Walk {
 public:
  Walk(const FunctionIndex& index, ValueTable& values, FunctionFacts& facts)
      : index_(index), values_(values), facts_(facts) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }

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

  bool decode(const Module& module, Address address, Instruction& out);
  void run(Frame& frame, Address address, MachineState state);
  /// False when the path ends here.
  bool step(Frame& frame, const Instruction& instruction, MachineState& state, Address& next);
  static void branch(Frame& frame, const Instruction& instruction, const MachineState& state);
  bool jump(Frame& frame, const Instruction& instruction, MachineState& state, Address& next);
  bool call_instruction(Frame& frame, const Instruction& instruction, MachineState& state);
  /// False when the callee never returns.
  bool call(std::string_view name, const std::optional<CodePlace>& target, MachineState& state,
            unsigned depth);
  static std::optional<CodePlace> direct_target(const Frame& frame, const Instruction& instruction);
  std::string_view imported_through(const Module& module, const Instruction& instruction) const;
  /// The import's name when a PLT stub stands at the place.
  std::string_view stub_import(const CodePlace& place);
  void add_known(const KnownAddition& addition, const MachineState& state, unsigned depth);

  void note_use(const Instruction& instruction, const MachineState& state);
  void note_use(const Value& used, const MachineState& state);
  void execute(const Frame& frame, const Instruction& instruction, MachineState& state);
  void arithmetic(const Frame& frame, const Instruction& instruction, MachineState& state, const Value& by,
                  int sign);
  void write(const Frame& frame, const Instruction& instruction, const ZydisDecodedOperand& operand,
             MachineState& state, const Value& value);
  void store(const Frame& frame, const Value& address, const Value& value, unsigned bytes,
             MachineState& state);
  void negate(const Frame& frame, const Instruction& instruction, MachineState& state);
  void exchange_and_add(const Frame& frame, const Instruction& instruction, MachineState& state);
  void exchange(const Frame& frame, const Instruction& instruction, MachineState& state);
  void compare_and_exchange(const Frame& frame, const Instruction& instruction, MachineState& state);
  void bit_field(const Instruction& instruction, MachineState& state);
  static void forget_written(const Instruction& instruction, MachineState& state);
  void changed(const Value& cell, std::int64_t delta, unsigned bytes, unsigned depth);

  const FunctionIndex& index_;
  ValueTable& values_;
  FunctionFacts& facts_;
  ZydisDecoder decoder_{};
  unsigned budget_ = kInstructionBudget;
  std::vector<Address> active_;
};

bool Walk::decode(const Module& module, Address address, Instruction& out) {
  std::array<std::uint8_t, kLongestInstruction> bytes{};
  std::size_t size = bytes.size();
  while (size > 0 && !module.read_code(address, bytes.data(), size)) --size;
  out.address = address;
  return size > 0 && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, bytes.data(), size, &out.decoded,
                                                         out.operands.data()));
}

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
  Instruction instruction;
  for (;;) {
    if (budget_ == 0 || ++frame.visits[address] > kVisitsEach) return;
    --budget_;
    if (!decode(*frame.module, address, instruction)) return;
    Address next = instruction.next();
    if (!step(frame, instruction, state, next)) return;
    address = next;
  }
}

bool Walk::step(Frame& frame, const Instruction& instruction, MachineState& state, Address& next) {
  switch (instruction.decoded.meta.category) {
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
  const ZydisMnemonic mnemonic = instruction.decoded.mnemonic;
  if (mnemonic == ZYDIS_MNEMONIC_UD2 || mnemonic == ZYDIS_MNEMONIC_HLT || mnemonic == ZYDIS_MNEMONIC_INT3) {
    return false;
  }
  note_use(instruction, state);
  execute(frame, instruction, state);
  return true;
}

void Walk::note_use(const Instruction& instruction, const MachineState& state) {
  if (state.handed_over().empty() || instruction.decoded.mnemonic == ZYDIS_MNEMONIC_LEA) return;
  for (unsigned i = 0; i < instruction.decoded.operand_count_visible; ++i) {
    if (instruction.operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    note_use(state.address_of(instruction.operands[i], instruction.next()), state);
  }
}

void Walk::note_use(const Value& used, const MachineState& state) {
  for (const std::size_t call : state.handed_over()) {
    if (used.known() && used.place == facts_.calls[call].first.place) facts_.calls[call].used_after = true;
  }
}

void Walk::branch(Frame& frame, const Instruction& instruction, const MachineState& state) {
  if (const auto target = direct_target(frame, instruction)) {
    frame.pending.push_back({target->address, state});
  }
}

bool Walk::jump(Frame& frame, const Instruction& instruction, MachineState& state, Address& next) {
  const auto target = direct_target(frame, instruction);
  const std::string_view import =
      target ? stub_import(*target) : imported_through(*frame.module, instruction);
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

bool Walk::call_instruction(Frame& frame, const Instruction& instruction, MachineState& state) {
  const auto target = direct_target(frame, instruction);
  const std::string_view import =
      target ? stub_import(*target) : imported_through(*frame.module, instruction);
  if (!import.empty()) return call(import, index_.exported(import), state, frame.depth + 1);
  const std::string_view name = target ? index_.name_at(*target) : "";
  return call(name, target, state, frame.depth + 1);
}

std::optional<CodePlace> Walk::direct_target(const Frame& frame, const Instruction& instruction) {
  const ZydisDecodedOperand& operand = instruction.operands[0];
  if (operand.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || operand.imm.is_relative == 0) return std::nullopt;
  return CodePlace{frame.module, instruction.next() + static_cast<Address>(operand.imm.value.s)};
}

std::string_view Walk::imported_through(const Module& module, const Instruction& instruction) const {
  const ZydisDecodedOperand& operand = instruction.operands[0];
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.base != ZYDIS_REGISTER_RIP) return {};
  const Address slot = instruction.next() + static_cast<Address>(operand.mem.disp.value);
  return index_.import_at({&module, slot});
}

std::string_view Walk::stub_import(const CodePlace& place) {
  Instruction instruction;
  Address address = place.address;
  for (int i = 0; i < 2 && decode(*place.module, address, instruction); ++i) {
    if (instruction.decoded.mnemonic == ZYDIS_MNEMONIC_JMP) {
      return imported_through(*place.module, instruction);
    }
    if (instruction.decoded.mnemonic != ZYDIS_MNEMONIC_ENDBR64) return {};
    address = instruction.next();
  }
  return {};
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
  changed(state.reg(7), delta, addition.size, depth);
}

void Walk::changed(const Value& cell, std::int64_t delta, unsigned bytes, unsigned depth) {
  if (delta == 0 || values_.root_argument(cell) == 0) return;
  const auto same = [&](const CounterChange& other) {
    return other.cell == cell && other.delta == delta && other.depth == depth;
  };
  if (std::any_of(facts_.changes.begin(), facts_.changes.end(), same)) return;
  facts_.changes.push_back({cell, delta, static_cast<std::uint8_t>(bytes), depth});
}

void Walk::store(const Frame& frame, const Value& address, const Value& value, unsigned bytes,
                 MachineState& state) {
  if (!address.known()) return;
  if (values_.is_stack(address)) {
    state.store_to_stack(address, value);
  } else if (values_.is_content_of(value, address)) {
    changed(address, as_signed(value.offset, bytes), bytes, frame.depth);
  } else if (values_.is_constant(value) && (value.offset == 0 || value.offset == 1)) {
    facts_.stores.push_back({address, value.offset, static_cast<std::uint8_t>(bytes)});
  }
}

void Walk::write(const Frame& frame, const Instruction& instruction, const ZydisDecodedOperand& operand,
                 MachineState& state, const Value& value) {
  if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
    store(frame, state.address_of(operand, instruction.next()), value, operand.size / 8U, state);
  } else if (const auto number = MachineState::number_of(operand.reg.value)) {
    state.set_reg(*number, value);
  }
}

void Walk::arithmetic(const Frame& frame, const Instruction& instruction, MachineState& state,
                      const Value& by, int sign) {
  const ZydisDecodedOperand& target = instruction.operands[0];
  const Value old = state.read(target, instruction.next());
  Value result;
  if (values_.is_constant(by) && old.known()) {
    result = {old.place, old.offset + sign * as_signed(by.offset, target.size / 8U), old.exact};
  } else if (sign > 0) {
    result = sum(values_, old, by);
  }
  write(frame, instruction, target, state, result);
}

void Walk::negate(const Frame& frame, const Instruction& instruction, MachineState& state) {
  const Value old = state.read(instruction.operands[0], instruction.next());
  const Value negative = values_.is_constant(old) ? values_.constant(-old.offset) : Value{};
  write(frame, instruction, instruction.operands[0], state, negative);
}

void Walk::exchange_and_add(const Frame& frame, const Instruction& instruction, MachineState& state) {
  const ZydisDecodedOperand& memory = instruction.operands[0];
  const Value by = state.read(instruction.operands[1], instruction.next());
  const Value old = state.read(memory, instruction.next());
  if (memory.type == ZYDIS_OPERAND_TYPE_MEMORY && values_.is_constant(by)) {
    const unsigned bytes = memory.size / 8U;
    changed(state.address_of(memory, instruction.next()), as_signed(by.offset, bytes), bytes, frame.depth);
  }
  write(frame, instruction, instruction.operands[1], state, old);
}

void Walk::exchange(const Frame& frame, const Instruction& instruction, MachineState& state) {
  const auto& operands = instruction.operands;
  const Value first = state.read(operands[0], instruction.next());
  const Value second = state.read(operands[1], instruction.next());
  write(frame, instruction, operands[0], state, second);
  write(frame, instruction, operands[1], state, first);
}

void Walk::compare_and_exchange(const Frame& frame, const Instruction& instruction, MachineState& state) {
  const ZydisDecodedOperand& memory = instruction.operands[0];
  const Value fresh = state.read(instruction.operands[1], instruction.next());
  const Value old = state.read(memory, instruction.next());
  write(frame, instruction, memory, state, fresh);
  state.set_reg(0, old);
}

/// and, or, xor. A counter in a bit field is taken out by masks and put together again: the parts of one
/// loaded word keep being that word, with what was added to either.
void Walk::bit_field(const Instruction& instruction, MachineState& state) {
  const ZydisDecodedOperand& target = instruction.operands[0];
  const auto number = MachineState::number_of(target.reg.value);
  if (target.type != ZYDIS_OPERAND_TYPE_REGISTER || !number) return;
  const Value a = state.reg(*number);
  const Value b = state.read(instruction.operands[1], instruction.next());
  const bool same_register = instruction.operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                             instruction.operands[1].reg.value == target.reg.value;
  const ZydisMnemonic mnemonic = instruction.decoded.mnemonic;
  Value result;
  if (same_register) {
    result = mnemonic == ZYDIS_MNEMONIC_XOR ? values_.constant(0) : a;
  } else if (values_.is_constant(a) && values_.is_constant(b)) {
    result = mnemonic == ZYDIS_MNEMONIC_OR ? values_.constant(a.offset | b.offset) : Value{};
  } else if (values_.is_constant(b)) {
    const bool all_ones = mnemonic == ZYDIS_MNEMONIC_OR && as_signed(b.offset, target.size / 8U) == -1;
    result = all_ones ? values_.constant(-1) : a;
  } else if (a.known() && b.known() && a.place == b.place) {
    result = {a.place, a.offset + b.offset, a.exact && b.exact};
  }
  state.set_reg(*number, result);
}

void Walk::execute(const Frame& frame, const Instruction& instruction, MachineState& state) {
  const auto& operands = instruction.operands;
  const Address next = instruction.next();
  switch (instruction.decoded.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
      write(frame, instruction, operands[0], state, state.read(operands[1], next));
      return;
    case ZYDIS_MNEMONIC_LEA:
      write(frame, instruction, operands[0], state, state.address_of(operands[1], next));
      return;
    case ZYDIS_MNEMONIC_ADD:
      arithmetic(frame, instruction, state, state.read(operands[1], next), 1);
      return;
    case ZYDIS_MNEMONIC_SUB:
      arithmetic(frame, instruction, state, state.read(operands[1], next), -1);
      return;
    case ZYDIS_MNEMONIC_INC:
      arithmetic(frame, instruction, state, values_.constant(1), 1);
      return;
    case ZYDIS_MNEMONIC_DEC:
      arithmetic(frame, instruction, state, values_.constant(1), -1);
      return;
    case ZYDIS_MNEMONIC_NEG:
      negate(frame, instruction, state);
      return;
    case ZYDIS_MNEMONIC_ADC:  // the carry is seldom set where a counter spans two words
    case ZYDIS_MNEMONIC_CDQE:
    case ZYDIS_MNEMONIC_CWDE:
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR64:
      return;
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
      bit_field(instruction, state);
      return;
    case ZYDIS_MNEMONIC_XADD:
      exchange_and_add(frame, instruction, state);
      return;
    case ZYDIS_MNEMONIC_XCHG:
      exchange(frame, instruction, state);
      return;
    case ZYDIS_MNEMONIC_CMPXCHG:
      compare_and_exchange(frame, instruction, state);
      return;
    case ZYDIS_MNEMONIC_PUSH:
      state.push(state.read(operands[0], next));
      return;
    case ZYDIS_MNEMONIC_POP:
      write(frame, instruction, operands[0], state, state.pop());
      return;
    case ZYDIS_MNEMONIC_LEAVE:
      state.set_reg(4, state.reg(5));
      state.set_reg(5, state.pop());
      return;
    default:
      forget_written(instruction, state);
  }
}

void Walk::forget_written(const Instruction& instruction, MachineState& state) {
  const bool conditional_move = instruction.decoded.meta.category == ZYDIS_CATEGORY_CMOV;
  for (unsigned i = 0; i < instruction.decoded.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
    const auto number = MachineState::number_of(operand.reg.value);
    // A conditional move may leave the old value, which is one of the two that it can have.
    if (number && !(conditional_move && state.reg(*number).known())) state.set_reg(*number, Value{});
  }
}

}  // namespace

FunctionFacts CodeWalker::walk(const CodePlace& function, ValueTable& values) const {
  FunctionFacts facts;
  Walk(index_, values, facts).activation(function, MachineState(values), 0);
  return facts;
}

}  // namespace refhist
