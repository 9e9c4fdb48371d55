#include "symbols/dwarf_expression.h"

#include <dwarf.h>

#include <cstring>
#include <vector>

namespace refhist {

namespace {

constexpr std::size_t kMaxSteps = 1000;  // a backward branch must not hang the debugger
constexpr std::size_t kStackDepth = 64;

class Evaluation {
 public:
  Evaluation(std::span<const std::uint8_t> code, const Registers& registers, const WordReader& read)
      : code_(code), registers_(registers), read_(read) {}

  void push(std::uint64_t value) {
    if (stack_.size() >= kStackDepth) good_ = false;
    stack_.push_back(value);
  }

  std::optional<std::uint64_t> run(std::optional<Address> cfa) {
    cfa_ = cfa;
    for (std::size_t steps = 0; good_ && at_ < code_.size(); ++steps) {
      if (steps == kMaxSteps) return std::nullopt;
      step();
    }
    if (!good_ || stack_.empty()) return std::nullopt;
    return stack_.back();
  }

 private:
  template <class T>
  T fixed() {
    T value{};
    if (sizeof(T) > code_.size() - at_) {
      good_ = false;
      at_ = code_.size();
      return value;
    }
    std::memcpy(&value, code_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return value;
    }
  }

  std::int64_t sleb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t byte = 0;
    do {
      byte = fixed<std::uint8_t>();
      if (shift < 64) value |= std::uint64_t{byte & 0x7fU} << shift;
      shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  std::uint64_t pop() {
    if (stack_.empty()) {
      good_ = false;
      return 0;
    }
    const std::uint64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }

  std::uint64_t peek(std::size_t depth) {
    if (depth < stack_.size()) return stack_[stack_.size() - 1 - depth];
    good_ = false;
    return 0;
  }

  void push_register(std::uint64_t number, std::int64_t offset) {
    if (number >= kRegisterCount) good_ = false;
    push(good_ ? registers_[static_cast<unsigned>(number)] + static_cast<std::uint64_t>(offset) : 0);
  }

  void dereference(std::size_t size) {
    const auto value = size >= 1 && size <= 8 ? read_(pop(), size) : std::nullopt;
    if (!value) good_ = false;
    push(value.value_or(0));
  }

  void branch(bool taken) {
    const auto distance = fixed<std::int16_t>();
    if (!good_ || !taken) return;
    const std::int64_t target = static_cast<std::int64_t>(at_) + distance;
    if (target < 0 || target > static_cast<std::int64_t>(code_.size())) {
      good_ = false;
    } else {
      at_ = static_cast<std::size_t>(target);
    }
  }

  bool step_constant(std::uint8_t op);
  bool step_stack(std::uint8_t op);
  bool step_unary(std::uint8_t op);
  bool step_binary(std::uint8_t op);

  void step() {
    const auto op = fixed<std::uint8_t>();
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31) return push(op - DW_OP_lit0);
    if (op >= DW_OP_breg0 && op <= DW_OP_breg31) return push_register(op - DW_OP_breg0, sleb());
    if (!step_constant(op) && !step_stack(op) && !step_unary(op) && !step_binary(op)) good_ = false;
  }

  std::span<const std::uint8_t> code_;
  const Registers& registers_;
  const WordReader& read_;
  std::optional<Address> cfa_;
  std::vector<std::uint64_t> stack_;
  std::size_t at_ = 0;
  bool good_ = true;
};

bool Evaluation::step_constant(std::uint8_t op) {
  switch (op) {
    case DW_OP_const1u:
      push(fixed<std::uint8_t>());
      return true;
    case DW_OP_const1s:
      push(static_cast<std::uint64_t>(std::int64_t{fixed<std::int8_t>()}));
      return true;
    case DW_OP_const2u:
      push(fixed<std::uint16_t>());
      return true;
    case DW_OP_const2s:
      push(static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()}));
      return true;
    case DW_OP_const4u:
      push(fixed<std::uint32_t>());
      return true;
    case DW_OP_const4s:
      push(static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()}));
      return true;
    case DW_OP_const8u:
    case DW_OP_const8s:
      push(fixed<std::uint64_t>());
      return true;
    case DW_OP_constu:
      push(uleb());
      return true;
    case DW_OP_consts:
      push(static_cast<std::uint64_t>(sleb()));
      return true;
    default:
      return false;
  }
}

bool Evaluation::step_stack(std::uint8_t op) {
  switch (op) {
    case DW_OP_bregx: {
      const std::uint64_t number = uleb();
      push_register(number, sleb());
      return true;
    }
    case DW_OP_call_frame_cfa:
      if (!cfa_) good_ = false;
      push(cfa_.value_or(0));
      return true;
    case DW_OP_dup:
      push(peek(0));
      return true;
    case DW_OP_drop:
      pop();
      return true;
    case DW_OP_over:
      push(peek(1));
      return true;
    case DW_OP_pick:
      push(peek(fixed<std::uint8_t>()));
      return true;
    case DW_OP_swap:
    case DW_OP_rot: {
      const std::uint64_t top = pop();
      const std::uint64_t second = pop();
      const std::uint64_t third = op == DW_OP_rot ? pop() : 0;
      push(top);
      if (op == DW_OP_rot) push(third);
      push(second);
      return true;
    }
    case DW_OP_skip:
      branch(true);
      return true;
    case DW_OP_bra:
      branch(pop() != 0);
      return true;
    case DW_OP_nop:
      return true;
    default:
      return false;
  }
}

bool Evaluation::step_unary(std::uint8_t op) {
  switch (op) {
    case DW_OP_deref:
      dereference(8);
      return true;
    case DW_OP_deref_size:
      dereference(fixed<std::uint8_t>());
      return true;
    case DW_OP_plus_uconst:
      push(pop() + uleb());
      return true;
    case DW_OP_neg:
      push(-pop());
      return true;
    case DW_OP_not:
      push(~pop());
      return true;
    case DW_OP_abs: {
      const std::uint64_t value = pop();
      push(static_cast<std::int64_t>(value) < 0 ? -value : value);
      return true;
    }
    default:
      return false;
  }
}

bool Evaluation::step_binary(std::uint8_t op) {
  const bool known = (op >= DW_OP_and && op <= DW_OP_xor && op != DW_OP_neg && op != DW_OP_not) ||
                     (op >= DW_OP_eq && op <= DW_OP_ne);
  if (!known) return false;
  const std::uint64_t b = pop();
  const std::uint64_t a = pop();
  const auto signed_a = static_cast<std::int64_t>(a);
  const auto signed_b = static_cast<std::int64_t>(b);
  switch (op) {
    case DW_OP_and:
      push(a & b);
      break;
    case DW_OP_or:
      push(a | b);
      break;
    case DW_OP_xor:
      push(a ^ b);
      break;
    case DW_OP_plus:
      push(a + b);
      break;
    case DW_OP_minus:
      push(a - b);
      break;
    case DW_OP_mul:
      push(a * b);
      break;
    case DW_OP_div:
      // -1 apart, because the smallest value divided by it traps.
      if (b == 0) good_ = false;
      push(b == 0 ? 0 : signed_b == -1 ? -a : static_cast<std::uint64_t>(signed_a / signed_b));
      break;
    case DW_OP_mod:
      if (b == 0) good_ = false;
      push(b == 0 ? 0 : a % b);
      break;
    case DW_OP_shl:
      push(b < 64 ? a << b : 0);
      break;
    case DW_OP_shr:
      push(b < 64 ? a >> b : 0);
      break;
    case DW_OP_shra:
      push(static_cast<std::uint64_t>(signed_a >> (b < 64 ? b : 63)));
      break;
    case DW_OP_eq:
      push(a == b);
      break;
    case DW_OP_ne:
      push(a != b);
      break;
    case DW_OP_lt:
      push(signed_a < signed_b);
      break;
    case DW_OP_le:
      push(signed_a <= signed_b);
      break;
    case DW_OP_gt:
      push(signed_a > signed_b);
      break;
    case DW_OP_ge:
      push(signed_a >= signed_b);
      break;
    default:
      good_ = false;
  }
  return true;
}

}  // namespace

std::optional<std::uint64_t> evaluate_expression(std::span<const std::uint8_t> expression,
                                                 const Registers& registers, std::optional<Address> cfa,
                                                 const WordReader& read) {
  Evaluation evaluation(expression, registers, read);
  if (cfa) evaluation.push(*cfa);
  return evaluation.run(cfa);
}

}  // namespace refhist
