// A few x86-64 instructions as bytes, for code that is put together at one known address.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/types.h"

namespace refhist {

class Assembler {
 public:
  explicit Assembler(Address begin) : begin_(begin) {}

  enum class Gpr : std::uint8_t {
    rax,
    rcx,
    rdx,
    rbx,
    rsp,
    rbp,
    rsi,
    rdi,
    r8,
    r9,
    r10,
    r11,
    r12,
    r13,
    r14,
    r15
  };
  /// [base + index * scale + displacement]; the index is not rsp.
  struct Memory {
    Gpr base = Gpr::rax;
    std::optional<Gpr> index;
    std::uint8_t scale = 1;  ///< 1, 2, 4 or 8
    std::int32_t displacement = 0;
  };

  void push(Gpr reg);
  void pop(Gpr reg);
  void move(Gpr to, Gpr from);
  void load_from_stack(Gpr to, std::int32_t offset);   ///< mov to, [rsp + offset]
  void store_to_stack(Gpr from, std::int32_t offset);  ///< mov [rsp + offset], from
  void load_address(Gpr to, Address address);          ///< lea to, [rip + ...]
  void load_address(Gpr to, const Memory& memory);
  void load_constant(Gpr to, std::int32_t value);  ///< sign-extended
  void move_stack(std::int32_t bytes);             ///< lea rsp, [rsp + bytes]: leaves the flags alone
  void save_flags();                               ///< into rax, which is lost
  void restore_flags();                            ///< from rax
  void call(Address target);
  void jump(Address target);
  void ret();
  void clear_eax();
  /// test eax, eax and a jump if it is not 0, whose target is known only later, by `bind`.
  [[nodiscard]] std::size_t jump_forward_if_set();
  void raw(std::span<const std::uint8_t> bytes);
  /// A call whose target is known only later, by `bind`.
  [[nodiscard]] std::size_t call_forward();
  void bind(std::size_t call);

  [[nodiscard]] Address here() const { return begin_ + bytes_.size(); }
  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  void byte(unsigned value) { bytes_.push_back(static_cast<std::uint8_t>(value)); }
  void word(std::uint32_t value);
  void stack_word(unsigned opcode, Gpr reg, std::int32_t offset);
  void relative(Address target);

  Address begin_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace refhist
