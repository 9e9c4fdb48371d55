// Through which words of memory the program has come to a value that a register holds, as it stands stopped.
//
// `mov rax, [rbx+8]; mov rdi, [rax]; call f`: rdi comes from the word at rax, and rax from the word at rbx+8.
// The instructions that have run are read backwards; registers that none of them has changed hold now what
// they held then.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "port/registers.h"
#include "x86/straight_way.h"

namespace refhist {

class ValueOrigin {
 public:
  struct Traced {
    Address value = 0;
    std::vector<Address> read;  ///< the words, the first one first
  };
  using ReadWord = std::function<bool(Address address, Address& word)>;
  /// What a register held where the function was entered.
  using AtEntry = std::function<std::optional<Traced>(unsigned reg)>;
  /// Which registers are right: in a frame that has called another one, those that calls give back.
  enum class Known : std::uint8_t { all, preserved };

  /// Without a look at memory: what has given a value to the function.
  struct Root {
    enum class By : std::uint8_t { unknown, call, caller } by = By::unknown;
    unsigned reg = 0;  ///< of the caller's: in which it came
  };

  /// `way`: what ran before the thread came to where `registers` are of. `bias`: of the module.
  ValueOrigin(StraightWay way, Address bias, const Registers& registers, Known known, ReadWord read,
              AtEntry at_entry)
      : way_(std::move(way.instructions)),
        from_entry_(way.from_entry),
        bias_(bias),
        registers_(registers),
        known_(known),
        read_(std::move(read)),
        at_entry_(std::move(at_entry)) {}

  /// Of a register (DWARF's number) where the thread stands; nothing when that is not known.
  [[nodiscard]] std::optional<Traced> of_register(unsigned reg) const { return value(reg, way_.size()); }
  [[nodiscard]] Root root_of_register(unsigned reg) const { return root(reg, way_.size()); }
  /// Of the address that a memory operand of the instruction there means.
  [[nodiscard]] std::optional<Traced> of_address(const DecodedInstruction& instruction,
                                                 const ZydisDecodedOperand& operand) const {
    return address(instruction, operand, way_.size());
  }

 private:
  [[nodiscard]] std::optional<Traced> value(unsigned reg, std::size_t before) const;
  [[nodiscard]] Root root(unsigned reg, std::size_t before) const;
  /// The instruction before this one that has changed it last.
  [[nodiscard]] std::optional<std::size_t> writer(unsigned reg, std::size_t before) const;
  /// Of a load from a variable in the frame: what has stored there last.
  [[nodiscard]] std::optional<std::size_t> store_to(const ZydisDecodedOperand& place,
                                                    std::size_t before) const;
  [[nodiscard]] std::optional<Traced> written(std::size_t index, unsigned reg) const;
  [[nodiscard]] std::optional<Traced> moved(std::size_t index) const;
  [[nodiscard]] std::optional<Traced> spilled(std::size_t index, const ZydisDecodedOperand& operand) const;
  [[nodiscard]] std::optional<Traced> loaded(std::size_t index, const ZydisDecodedOperand& operand) const;
  [[nodiscard]] std::optional<Traced> address(const DecodedInstruction& instruction,
                                              const ZydisDecodedOperand& operand, std::size_t before) const;
  [[nodiscard]] std::optional<Traced> stack_pointer(std::size_t before) const;

  /// It holds now what it held then.
  [[nodiscard]] bool is_unchanged(unsigned reg, std::size_t since) const;
  /// By another register that it was copied to, which holds it now.
  [[nodiscard]] std::optional<Traced> copied(unsigned reg, std::size_t before) const;

  std::vector<DecodedInstruction> way_;
  bool from_entry_;
  Address bias_;
  Registers registers_;
  Known known_;
  ReadWord read_;
  AtEntry at_entry_;
};

}  // namespace refhist
