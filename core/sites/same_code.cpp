#include "sites/same_code.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "x86/decoded_instruction.h"

namespace refhist {

namespace {

class FunctionCode {
 public:
  FunctionCode(const Module& module, const FunctionSymbol& function)
      : function_(function), bytes_(function.size) {
    if (!module.read_code(function.address, bytes_.data(), bytes_.size())) bytes_.clear();
  }

  [[nodiscard]] bool decode(std::uint64_t offset, DecodedInstruction& instruction) const {
    return !bytes_.empty() &&
           decoder_.decode({function_.address, bytes_}, function_.address + offset, instruction);
  }
  /// The instruction's bytes, those that hold a distance as zeros.
  [[nodiscard]] std::vector<std::uint8_t> form(const DecodedInstruction& instruction) const {
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(instruction.address - function_.address);
    std::vector<std::uint8_t> form(begin, begin + instruction.raw.length);
    const auto blank = [&](std::uint8_t offset, std::uint8_t bits) {
      std::fill_n(form.begin() + offset, bits / 8, std::uint8_t{0});
    };
    const auto& parts = instruction.raw.raw;
    if (instruction.rip_target()) blank(parts.disp.offset, parts.disp.size);
    if (instruction.branch_target()) blank(parts.imm[0].offset, parts.imm[0].size);
    return form;
  }
  /// What a distance leads to: counted from the function's begin when that lies inside.
  [[nodiscard]] std::optional<Address> place(const DecodedInstruction& instruction) const {
    const auto meant = instruction.entered();
    return meant && function_.range().contains(*meant) ? *meant - function_.address : meant;
  }

 private:
  const FunctionSymbol& function_;
  std::vector<std::uint8_t> bytes_;
  InstructionDecoder decoder_;
};

}  // namespace

bool same_code(const Module& module, const FunctionSymbol& one, const FunctionSymbol& other) {
  if (one.size != other.size) return false;
  const FunctionCode first(module, one);
  const FunctionCode second(module, other);
  DecodedInstruction here;
  DecodedInstruction there;
  for (std::uint64_t offset = 0; offset < one.size; offset += here.raw.length) {
    const bool same = first.decode(offset, here) && second.decode(offset, there) &&
                      first.form(here) == second.form(there) && first.place(here) == second.place(there);
    if (!same) return false;
  }
  return true;
}

}  // namespace refhist
