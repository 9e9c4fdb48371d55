#include "analysis/code_jumps.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <functional>

namespace refhist {

namespace {

constexpr std::size_t kLongestInstruction = 15;
constexpr std::uint64_t kLargestFunction = std::uint64_t{1} << 20;  // bytes; more is not worth the time

struct Decoded {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
  Address address = 0;

  [[nodiscard]] Address next() const { return address + instruction.length; }
  /// Target of a relative call or jump.
  [[nodiscard]] std::optional<Address> target() const {
    if (operands[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE || operands[0].imm.is_relative == 0)
      return std::nullopt;
    return next() + static_cast<Address>(operands[0].imm.value.s);
  }
};

class Decoder {
 public:
  explicit Decoder(const Module& module) : module_(module) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }

  bool decode(Address address, Decoded& out) const {
    std::array<std::uint8_t, kLongestInstruction> bytes{};
    std::size_t size = bytes.size();
    while (size > 0 && !module_.read_code(address, bytes.data(), size)) --size;
    out.address = address;
    return size > 0 && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, bytes.data(), size, &out.instruction,
                                                           out.operands.data()));
  }

  /// Calls `visit` for every instruction from `begin` on. False when one could not be read before `end`.
  bool each(Address begin, Address end, const std::function<void(const Decoded&)>& visit) const {
    Decoded decoded;
    for (Address at = begin; at < end; at = decoded.next()) {
      if (!decode(at, decoded)) return false;
      visit(decoded);
    }
    return true;
  }

 private:
  const Module& module_;
  ZydisDecoder decoder_{};
};

bool is_jump(const Decoded& decoded) {
  const auto category = decoded.instruction.meta.category;
  return category == ZYDIS_CATEGORY_UNCOND_BR || category == ZYDIS_CATEGORY_COND_BR;
}

}  // namespace

JumpsOut jumps_out_of(const Module& module, const FunctionSymbol& function) {
  JumpsOut jumps;
  const Address end = function.address + function.size;
  if (function.size == 0 || function.size > kLargestFunction) return {{}, true};
  const bool whole = Decoder(module).each(function.address, end, [&](const Decoded& decoded) {
    if (!is_jump(decoded)) return;
    const auto target = decoded.target();
    if (!target) {
      jumps.indirect = true;
    } else if (*target < function.address || *target >= end) {
      jumps.targets.push_back(*target);
    }
  });
  if (!whole) jumps.indirect = true;
  std::sort(jumps.targets.begin(), jumps.targets.end());
  jumps.targets.erase(std::unique(jumps.targets.begin(), jumps.targets.end()), jumps.targets.end());
  return jumps;
}

std::optional<Address> behind_jump_to(const Module& module, const FunctionSymbol& function, Address target) {
  std::optional<Address> behind;
  if (function.size > kLargestFunction) return behind;
  Decoder(module).each(function.address, function.address + function.size, [&](const Decoded& decoded) {
    if (!behind && is_jump(decoded) && decoded.target() == target) behind = decoded.next();
  });
  return behind;
}

std::vector<Address> calls_out_of(const Module& module, const FunctionSymbol& function, FileRange range) {
  std::vector<Address> targets;
  const Address end = function.address + function.size;
  if (function.size > kLargestFunction) return targets;
  Decoder(module).each(function.address, end, [&](const Decoded& decoded) {
    const bool call = decoded.instruction.meta.category == ZYDIS_CATEGORY_CALL;
    if (!range.contains(decoded.address) || (!call && !is_jump(decoded))) return;
    const auto target = decoded.target();
    if (target && (*target < function.address || *target >= end)) targets.push_back(*target);
  });
  std::sort(targets.begin(), targets.end());
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

std::optional<Address> direct_call_before(const Module& module, const FunctionSymbol& function,
                                          Address return_pc) {
  if (return_pc <= function.address || return_pc - function.address > kLargestFunction) return std::nullopt;
  // From the beginning: the five bytes before a return address may look like a call and be none.
  std::optional<Address> target;
  Decoder(module).each(function.address, return_pc, [&](const Decoded& decoded) {
    const bool returns_there =
        decoded.next() == return_pc && decoded.instruction.meta.category == ZYDIS_CATEGORY_CALL;
    target = returns_there ? decoded.target() : std::nullopt;
  });
  return target;
}

std::optional<Address> stub_slot(const Module& module, Address address) {
  const Decoder decoder(module);
  Decoded decoded;
  for (int i = 0; i < 2 && decoder.decode(address, decoded); ++i) {
    if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_JMP) {
      const ZydisDecodedOperand& operand = decoded.operands[0];
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.base != ZYDIS_REGISTER_RIP)
        return std::nullopt;
      return decoded.next() + static_cast<Address>(operand.mem.disp.value);
    }
    if (decoded.instruction.mnemonic != ZYDIS_MNEMONIC_ENDBR64) return std::nullopt;
    address = decoded.next();
  }
  return std::nullopt;
}

}  // namespace refhist
