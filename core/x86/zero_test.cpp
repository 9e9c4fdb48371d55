#include "x86/zero_test.h"

#include <bit>

namespace refhist {

namespace {

constexpr std::int64_t kLargestStep = 65536;

bool in_register(const ZydisDecodedOperand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_REGISTER; }
bool is_number(const ZydisDecodedOperand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE; }

/// Where the jump goes, or falls through to, when nothing is left.
struct Sides {
  Address zero = 0;
  bool below = false;  ///< only what is less than the number goes there
};

std::optional<Sides> sides_of(const DecodedInstruction& jump) {
  const auto target = jump.branch_target();
  if (!target) return std::nullopt;
  switch (jump.raw.mnemonic) {
    case ZYDIS_MNEMONIC_JZ:
    case ZYDIS_MNEMONIC_JLE:
    case ZYDIS_MNEMONIC_JBE:
      return Sides{*target, false};
    case ZYDIS_MNEMONIC_JNZ:
    case ZYDIS_MNEMONIC_JNLE:
    case ZYDIS_MNEMONIC_JNBE:
      return Sides{jump.next(), false};
    case ZYDIS_MNEMONIC_JL:
    case ZYDIS_MNEMONIC_JB:
      return Sides{*target, true};
    case ZYDIS_MNEMONIC_JNL:
    case ZYDIS_MNEMONIC_JNB:
      return Sides{jump.next(), true};
    default:
      return std::nullopt;
  }
}

/// What the first operand is compared with; what it becomes is zero then, where it is changed.
std::optional<std::int64_t> compared_with(const DecodedInstruction& test) {
  const ZydisDecodedOperand& first = test.operands[0];
  const ZydisDecodedOperand& second = test.operands[1];
  switch (test.raw.mnemonic) {
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_SUB:
      return is_number(second) ? std::optional(second.imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_ADD:
      return is_number(second) ? std::optional(-second.imm.value.s) : std::nullopt;
    case ZYDIS_MNEMONIC_DEC:
      return 1;
    case ZYDIS_MNEMONIC_TEST:
      return in_register(first) && in_register(second) && first.reg.value == second.reg.value
                 ? std::optional<std::int64_t>(0)
                 : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// The memory that is compared, or that the register was loaded from.
std::optional<CounterInstruction> counter_of(const DecodedInstruction& test,
                                             const RegisterDistances& before) {
  const ZydisDecodedOperand& operand = test.operands[0];
  if (!in_register(operand)) {
    // The others change the counter themselves.
    return test.raw.mnemonic == ZYDIS_MNEMONIC_CMP ? CounterInstruction::at_memory(test) : std::nullopt;
  }
  const std::uint8_t reg = CounterInstruction::register_number(operand.reg.value);
  const auto loaded = reg == CounterInstruction::kNoRegister ? std::nullopt : before.loaded(reg);
  if (!loaded || loaded->base == kRsp) return std::nullopt;
  CounterInstruction counter;
  counter.base = loaded->base;
  counter.displacement = loaded->displacement;
  counter.constant = -loaded->added;
  return counter;
}

/// `counter.constant`: how much less than the counter is compared.
std::optional<ZeroTest> last_at(const DecodedInstruction& place, const DecodedInstruction& test,
                                const DecodedInstruction& jump, CounterInstruction counter) {
  const auto sides = sides_of(jump);
  const auto number = compared_with(test);
  if (!sides || !number) return std::nullopt;
  counter.constant += *number - (sides->below ? 1 : 0);
  const bool step = counter.constant > 0 && counter.constant <= kLargestStep &&
                    std::has_single_bit(static_cast<std::uint64_t>(counter.constant));
  if (!step) return std::nullopt;
  counter.kind = CounterInstruction::Kind::last;
  counter.size = static_cast<std::uint8_t>(test.operands[0].size / 8);
  counter.length = place.raw.length;
  counter.address = place.address;
  return ZeroTest{counter, sides->zero};
}

}  // namespace

std::optional<ZeroTest> zero_test(const DecodedInstruction& test, const DecodedInstruction& jump,
                                  const RegisterDistances& before) {
  const auto counter = counter_of(test, before);
  return counter ? last_at(test, test, jump, *counter) : std::nullopt;
}

std::optional<ZeroTest> zero_test(const DecodedInstruction& load, const DecodedInstruction& test,
                                  const DecodedInstruction& jump) {
  const bool loads = load.raw.mnemonic == ZYDIS_MNEMONIC_MOV && in_register(load.operands[0]) &&
                     in_register(test.operands[0]) &&
                     load.operands[0].reg.value == test.operands[0].reg.value;
  const auto counter = loads ? CounterInstruction::at_memory(load, 1) : std::nullopt;
  return counter ? last_at(load, test, jump, *counter) : std::nullopt;
}

bool may_be_tested(const DecodedInstruction& instruction) {
  return instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV || compared_with(instruction).has_value();
}

}  // namespace refhist
