#include "x86/place_reads.h"

#include <algorithm>
#include <vector>

#include "x86/instruction.h"

namespace refhist {

namespace {

constexpr std::size_t kMostStates = 20000;  // of one walk
constexpr unsigned kDeepest = 3;            // calls that what is passed to is looked for in
constexpr std::int64_t kArray = 1024;       // bytes, of one that is read by an index

constexpr std::uint32_t bit(unsigned reg) { return std::uint32_t{1} << reg; }

std::uint32_t argument_registers() {
  std::uint32_t all = 0;
  for (const unsigned reg : kArgumentRegisters) all |= bit(reg);
  return all;
}

/// Registers that may have arguments of the function, where debug information tells; else all.
std::uint32_t parameters_of(const Module& module, const FunctionSymbol& function) {
  const auto signature =
      clone_kind(function.name) == CloneKind::whole ? module.signature(function) : std::nullopt;
  if (!signature) return argument_registers();
  std::size_t count = 0;  // what is no pointer may take two
  for (const Parameter& parameter : signature->parameters) count += parameter.type.ends_with('*') ? 1 : 2;
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < std::min(count, kArgumentRegisters.size()); ++i)
    all |= bit(kArgumentRegisters[i]);
  return all;
}

bool reads(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
}

bool writes(const ZydisDecodedOperand& operand) {
  return (operand.actions & ZYDIS_OPERAND_ACTION_WRITE) != 0;  // whatever the flags are
}

/// `xor eax, eax`: what the register held does not matter.
bool clears(const DecodedInstruction& instruction) {
  const bool both = instruction.raw.mnemonic == ZYDIS_MNEMONIC_XOR ||
                    instruction.raw.mnemonic == ZYDIS_MNEMONIC_SUB ||
                    instruction.raw.mnemonic == ZYDIS_MNEMONIC_PXOR;
  return both && is_register(instruction.operands[0]) && is_register(instruction.operands[1]) &&
         instruction.operands[0].reg.value == instruction.operands[1].reg.value;
}

}  // namespace

class PlaceReads::Walk {
 public:
  /// `states`: how many were looked at, with those of the functions that are called.
  Walk(CodeGraph& graph, ClobberedRegisters& clobbered, const Module& module, std::size_t& states,
       unsigned depth)
      : graph_(graph), clobbered_(clobbered), module_(module), states_(states), depth_(depth) {}

  bool any(Address begin, const FramePlaces& places) {
    result_ = places.result;
    reach_ = places.reach;
    two_ = places.two_results;
    push({begin, 0, places.base, places.registers, places.words});
    while (!waiting_.empty()) {
      if (++states_ > kMostStates) return true;
      State state = std::move(waiting_.back());
      waiting_.pop_back();
      if (!read_instruction(module_, state.at, instruction_) || executes(state)) return true;
    }
    return false;
  }

 private:
  struct State {
    Address at = 0;
    std::int64_t rsp = 0;  // from what it was at the beginning
    std::optional<std::int64_t> rbp;
    std::uint32_t registers = 0;
    std::set<std::int64_t> words;
    auto operator<=>(const State&) const = default;
    [[nodiscard]] bool has(unsigned reg) const { return (registers & bit(reg)) != 0; }
  };

  void push(State state) {
    if ((state.registers == 0 && state.words.empty()) || !seen_.insert(state).second) return;
    waiting_.push_back(std::move(state));
  }

  /// True: it reads one, or leads to where that cannot be told.
  bool executes(State& state) {
    if (instruction_.is_return()) return (result_ && state.has(kRax)) || (two_ && state.has(kRdx));
    if (instruction_.is_call()) return calls(state);
    if (reads_place(state)) return true;
    if (instruction_.is_indirect_jump()) return jumps_away(state);
    if (!moves_stack(state)) return true;
    overwrites(state);
    if (const auto target = instruction_.branch_target()) {
      State there = state;
      there.at = *target;
      push(std::move(there));
    }
    if (!instruction_.falls_through()) return false;
    state.at = instruction_.next();
    push(std::move(state));
    return false;
  }

  /// A jump through a slot of the linker's enters another function; a table's may lead anywhere in this one.
  bool jumps_away(const State& state) {
    return !instruction_.rip_target() || (state.registers & argument_registers()) != 0;
  }

  bool calls(State& state) {
    for (const ZydisDecodedOperand& operand : instruction_.operands) {
      if (operand.type == ZYDIS_OPERAND_TYPE_UNUSED) break;
      if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && reads(operand) && reads_register(state, operand))
        return true;
      if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
          operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT && reads_memory(state, operand))
        return true;
    }
    const auto entered = instruction_.entered();
    if (entered && graph_.ends_path(module_, *entered)) return false;
    const std::uint32_t passed = state.registers & argument_registers();
    if (passed != 0 && takes(passed)) return true;
    state.registers &= ~clobbered_.of_call(instruction_);
    std::erase_if(state.words, [&](std::int64_t word) { return word < state.rsp; });
    state.at = instruction_.next();
    push(std::move(state));
    return false;
  }

  /// The function that is called reads what the registers hold.
  bool takes(std::uint32_t passed) {
    const auto target = instruction_.branch_target();
    const auto function = target ? module_.function_at(*target) : std::nullopt;
    if (depth_ == kDeepest || !function || function->address != *target || function->ifunc) return true;
    const std::uint32_t taken = passed & parameters_of(module_, *function);
    if (taken == 0) return false;
    FramePlaces places;
    places.registers = taken;
    places.result = false;
    return Walk(graph_, clobbered_, module_, states_, depth_ + 1).any(*target, places);
  }

  static bool reads_register(const State& state, const ZydisDecodedOperand& operand) {
    const auto reg = dwarf_number(operand.reg.value);
    return reg && state.has(*reg);
  }

  /// Where in the frame it lies, without its index.
  static std::optional<std::int64_t> in_frame(const State& state, const ZydisDecodedOperand& operand) {
    if (operand.mem.base == ZYDIS_REGISTER_RSP) return state.rsp + operand.mem.disp.value;
    if (operand.mem.base == ZYDIS_REGISTER_RBP && state.rbp) return *state.rbp + operand.mem.disp.value;
    return std::nullopt;
  }

  static bool any_word(const State& state, std::int64_t from, std::int64_t size) {
    const auto first = state.words.upper_bound(from - 8);
    return first != state.words.end() && *first < from + size;
  }

  bool reads_memory(const State& state, const ZydisDecodedOperand& operand) const {
    for (const ZydisRegister name : {operand.mem.base, operand.mem.index}) {
      const auto reg = dwarf_number(name);
      if (reg && state.has(*reg)) return true;
    }
    const auto at = in_frame(state, operand);
    if (!at) return false;
    if (operand.mem.index != ZYDIS_REGISTER_NONE) return any_word(state, *at, kArray);
    if (operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) return any_word(state, *at, reach_);
    return reads(operand) && any_word(state, *at, operand.size / 8);
  }

  /// What a function restores for its caller it does not read.
  bool reads_place(const State& state) const {
    if (instruction_.raw.mnemonic == ZYDIS_MNEMONIC_POP || clears(instruction_)) return false;
    for (unsigned i = 0; i < instruction_.raw.operand_count; ++i) {
      const ZydisDecodedOperand& operand = instruction_.operands[i];
      const bool is_register_read = operand.type == ZYDIS_OPERAND_TYPE_REGISTER && reads(operand);
      if (is_register_read && reads_register(state, operand)) return true;
      const bool is_own_memory = operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
                                 operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
      if (is_own_memory && reads_memory(state, operand)) return true;
    }
    return false;
  }

  /// False when it is no longer known where the stack pointer is.
  bool moves_stack(State& state) const {
    const ZydisDecodedOperand* operands = instruction_.operands.data();
    const bool on_rsp = is_register(operands[0], ZYDIS_REGISTER_RSP);
    const bool on_rbp = is_register(operands[0], ZYDIS_REGISTER_RBP);
    switch (instruction_.raw.mnemonic) {
      case ZYDIS_MNEMONIC_PUSH:
        state.rsp -= 8;
        return true;
      case ZYDIS_MNEMONIC_POP:
        state.rsp += 8;
        if (on_rbp) state.rbp.reset();
        return true;
      case ZYDIS_MNEMONIC_LEAVE:
        if (!state.rbp) return false;
        state.rsp = *state.rbp + 8;
        state.rbp.reset();
        return true;
      case ZYDIS_MNEMONIC_ADD:
      case ZYDIS_MNEMONIC_SUB:
        if (!on_rsp) break;
        if (!is_immediate(operands[1])) return false;
        state.rsp += (instruction_.raw.mnemonic == ZYDIS_MNEMONIC_ADD ? 1 : -1) * operands[1].imm.value.s;
        return true;
      case ZYDIS_MNEMONIC_LEA:
      case ZYDIS_MNEMONIC_MOV: {
        if (!on_rsp && !on_rbp) break;
        const auto value = address_held(state, operands[1]);
        if (on_rbp) {
          state.rbp = value;
          return true;
        }
        if (!value) return false;
        state.rsp = *value;
        return true;
      }
      default:
        break;
    }
    if (on_rbp && writes(operands[0])) state.rbp.reset();
    return !(on_rsp && writes(operands[0]));
  }

  /// In the frame; of `mov rbp, rsp` or `lea rsp, [rbp - 8]`.
  [[nodiscard]] std::optional<std::int64_t> address_held(const State& state,
                                                         const ZydisDecodedOperand& operand) const {
    if (is_register(operand, ZYDIS_REGISTER_RSP)) return state.rsp;
    if (is_register(operand, ZYDIS_REGISTER_RBP)) return state.rbp;
    const bool is_address =
        instruction_.raw.mnemonic == ZYDIS_MNEMONIC_LEA && operand.mem.index == ZYDIS_REGISTER_NONE;
    return is_address ? in_frame(state, operand) : std::nullopt;
  }

  void overwrites(State& state) const {
    for (unsigned i = 0; i < instruction_.raw.operand_count; ++i) {
      const ZydisDecodedOperand& operand = instruction_.operands[i];
      if (!writes(operand)) continue;
      if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
        const auto reg = dwarf_number(operand.reg.value);
        if (reg && operand.size >= 32) state.registers &= ~bit(*reg);
      } else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.index == ZYDIS_REGISTER_NONE) {
        const auto at = in_frame(state, operand);
        if (at)
          std::erase_if(state.words,
                        [&](std::int64_t word) { return word >= *at && word + 8 <= *at + operand.size / 8; });
      }
    }
  }

  CodeGraph& graph_;
  ClobberedRegisters& clobbered_;
  const Module& module_;
  std::size_t& states_;
  unsigned depth_;
  bool result_ = true;
  std::int64_t reach_ = 0;
  bool two_ = false;
  DecodedInstruction instruction_;
  std::vector<State> waiting_;
  std::set<State> seen_;
};

ClobberedRegisters& PlaceReads::clobbered(const Module& module) {
  return clobbered_.try_emplace(&module, module).first->second;
}

bool PlaceReads::any(const Module& module, Address begin, const FramePlaces& places) {
  if (places.empty()) return false;
  const auto [entry, is_new] = known_.try_emplace({&module, begin, places}, true);
  std::size_t states = 0;
  if (is_new) entry->second = Walk(graph_, clobbered(module), module, states, 0).any(begin, places);
  return entry->second;
}

std::uint32_t PlaceReads::kept_by_call(const Module& module, Address return_pc) {
  constexpr Address kDirectCall = 5;  // bytes
  DecodedInstruction call;
  const bool known = read_instruction(module, return_pc - kDirectCall, call) && call.is_call() &&
                     call.next() == return_pc && call.branch_target();
  return known ? ClobberedRegisters::kByConvention & ~clobbered(module).of_call(call) : 0;
}

}  // namespace refhist
