// A few x86-64 instructions as bytes, for code that is put together at one known address.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace refhist {

class Assembler {
 public:
  explicit Assembler(Address begin) : begin_(begin) {}

  enum class Gpr : std::uint8_t { rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11 };

  void push(Gpr reg);
  void pop(Gpr reg);
  void move(Gpr to, Gpr from);
  void load_from_stack(Gpr to, std::int32_t offset);  ///< mov to, [rsp + offset]
  void load_address(Gpr to, Address address);         ///< lea to, [rip + ...]
  void move_stack(std::int32_t bytes);                ///< lea rsp, [rsp + bytes]: leaves the flags alone
  void save_flags();                                  ///< into rax, which is lost
  void restore_flags();                               ///< from rax
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
  void relative(Address target);

  Address begin_;
  std::vector<std::uint8_t> bytes_;
};

}  // namespace refhist
