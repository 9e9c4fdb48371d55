#include "x86/prologue.h"

#include <tuple>

#include "x86/decoded_instruction.h"

namespace refhist {

namespace {
constexpr unsigned kWordBytes = sizeof(Address);

class PrologueRun {
 public:
  explicit PrologueRun(const Registers& registers) { end_.registers = registers; }

  /// False, and nothing done, when the instruction is of another kind.
  bool step(const DecodedInstruction& instruction) {
    const bool done = instruction.raw.mnemonic == ZYDIS_MNEMONIC_ENDBR64 || act(instruction);
    if (done) end_.registers[kRip] = instruction.next();
    return done;
  }
  [[nodiscard]] std::optional<PrologueEnd> take() {
    return framed_ ? std::optional(std::move(end_)) : std::nullopt;
  }

 private:
  bool act(const DecodedInstruction& instruction) {
    switch (instruction.raw.mnemonic) {
      case ZYDIS_MNEMONIC_PUSH:
        return push(instruction.operands[0], instruction.raw.operand_width);
      case ZYDIS_MNEMONIC_SUB:
        return make_room(instruction);
      case ZYDIS_MNEMONIC_MOV:
        return move(instruction.operands[0], instruction.operands[1]);
      default:
        return false;
    }
  }
  bool push(const ZydisDecodedOperand& reg, unsigned width) {
    const auto number = number_of(reg);
    if (!number || width != 8 * kWordBytes) return false;
    const Address value = end_.registers[*number];
    end_.registers[kRsp] -= kWordBytes;
    end_.stores.push_back({end_.registers.sp(), value, kWordBytes});
    return true;
  }
  // The flags are nobody's: the function has not asked for them yet, and its caller keeps none.
  bool make_room(const DecodedInstruction& instruction) {
    const auto& [to, from] = std::tie(instruction.operands[0], instruction.operands[1]);
    if (!framed_ || !is_register(to, ZYDIS_REGISTER_RSP) || from.type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
      return false;
    end_.registers[kRsp] -= static_cast<Address>(from.imm.value.s);
    return true;
  }
  bool move(const ZydisDecodedOperand& to, const ZydisDecodedOperand& from) {
    const auto source = number_of(from);
    if (!source) return false;
    if (to.type == ZYDIS_OPERAND_TYPE_MEMORY) return store(to, *source);
    const auto target = number_of(to);
    const bool builds = is_register(to, ZYDIS_REGISTER_RBP) && is_register(from, ZYDIS_REGISTER_RSP);
    if (!target || *target == kRsp || (*target == kRbp && (!builds || framed_)) || to.size < 32) return false;
    framed_ = framed_ || builds;
    const Address value = end_.registers[*source];
    end_.registers[*target] = to.size == 32 ? static_cast<std::uint32_t>(value) : value;
    return true;
  }
  bool store(const ZydisDecodedOperand& to, unsigned source) {
    const bool in_frame = framed_ && to.mem.base == ZYDIS_REGISTER_RBP &&
                          to.mem.index == ZYDIS_REGISTER_NONE && to.mem.disp.value < 0;
    if (!in_frame) return false;
    const Address at = end_.registers[kRbp] + static_cast<Address>(to.mem.disp.value);
    end_.stores.push_back({at, end_.registers[source], to.size / 8U});
    return true;
  }
  static std::optional<unsigned> number_of(const ZydisDecodedOperand& operand) {
    return operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? dwarf_number(operand.reg.value) : std::nullopt;
  }

  PrologueEnd end_;
  bool framed_ = false;
};

}  // namespace

std::optional<PrologueEnd> run_prologue(const CodeRange& function, Address end, const Registers& registers) {
  const InstructionDecoder decoder;
  PrologueRun run(registers);
  DecodedInstruction instruction;
  for (Address at = function.address; decoder.decode(function, at, instruction); at = instruction.next()) {
    if (instruction.next() > end || !run.step(instruction)) break;
  }
  return run.take();
}

}  // namespace refhist
