#include "analysis/keep_index.h"

#include <optional>
#include <vector>

#include "x86/decoded_instruction.h"
#include "x86/machine_state.h"
#include "x86/memory_copy.h"

namespace refhist {

namespace {

constexpr std::uint64_t kLargest = 1U << 16U;  // bytes of a function that is read

std::int64_t displacement_of(const ZydisDecodedOperand& memory) {
  return memory.mem.disp.has_displacement ? memory.mem.disp.value : 0;
}

/// `mov %reg, n(%reg)`, or `mov $0, n(%reg)`; of a global variable its address.
std::optional<std::int64_t> store_offset(const DecodedInstruction& instruction) {
  const ZydisDecodedOperand& to = instruction.operands[0];
  const ZydisDecodedOperand& what = instruction.operands[1];
  const bool pointer = is_register(what) || (is_immediate(what) && what.imm.value.u == 0);
  const bool stores = instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV && instruction.raw.operand_width == 64 &&
                      to.type == ZYDIS_OPERAND_TYPE_MEMORY && pointer && to.mem.base != ZYDIS_REGISTER_RSP;
  if (!stores) return std::nullopt;
  if (const auto variable = instruction.rip_target()) return static_cast<std::int64_t>(*variable);
  return displacement_of(to);
}

std::optional<std::int64_t> offset_of_pointer(const DecodedInstruction& call) {
  const ZydisDecodedOperand& to = call.operands[0];
  const bool behind_register = to.type == ZYDIS_OPERAND_TYPE_MEMORY && MachineState::number_of(to.mem.base) &&
                               to.mem.index == ZYDIS_REGISTER_NONE;
  if (!behind_register) return std::nullopt;
  return displacement_of(to);
}

/// `lea n(%rip), %reg`, or `mov n(%rip), %reg`.
std::optional<Address> named_address(const DecodedInstruction& instruction) {
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  const bool names = mnemonic == ZYDIS_MNEMONIC_LEA || mnemonic == ZYDIS_MNEMONIC_MOV;
  return names && instruction.raw.operand_width == 64 && is_register(instruction.operands[0])
             ? instruction.rip_target()
             : std::nullopt;
}

template <class Key, class Found>
const Found& places_in(const std::unordered_map<Key, Found>& index, Key key) {
  static const Found kNone;
  const auto found = index.find(key);
  return found == index.end() ? kNone : found->second;
}

}  // namespace

KeepIndex::KeepIndex(const Module& module) : module_(module) {
  std::set<Address> seen;  // functions have several names
  for (const FunctionSymbol& function : module.functions()) {
    if (function.size != 0 && function.size < kLargest && seen.insert(function.address).second)
      read(function);
  }
}

void KeepIndex::read(const FunctionSymbol& function) {
  std::vector<std::uint8_t> bytes(function.size);
  if (!module_.read_code(function.address, bytes.data(), bytes.size())) return;
  const CodeRange range{function.address, bytes};
  const InstructionDecoder decoder;
  DecodedInstruction instruction;
  for (Address at = range.address; at < range.end() && decoder.decode(range, at, instruction);
       at = instruction.next()) {
    if (instruction.is_call() || instruction.is_jump() || instruction.is_branch()) {
      const auto target = instruction.entered();
      const bool out = target && (*target < range.address || *target >= range.end());
      if (out) calls_[*target][function.address].insert(at);
      if (const auto offset = offset_of_pointer(instruction))
        calls_through_[*offset][function.address].insert(at);
    } else if (const auto offset = store_offset(instruction)) {
      (is_immediate(instruction.operands[1]) ? clears_ : stores_)[*offset][function.address].insert(at);
    } else if (const std::int64_t words = stored_words(instruction); words > 1) {
      const std::int64_t first = displacement_of(instruction.operands[0]);
      for (std::int64_t behind = 0; behind < 8 * words; behind += 8)
        copies_[first + behind][function.address][at] = behind;
    } else if (copies_block(instruction)) {
      block_copies_[function.address].insert(at);
    } else if (const auto address = named_address(instruction)) {
      named_[*address].insert(function.address);
    }
  }
}

const KeepIndex::Places& KeepIndex::calls(Address target) const { return places_in(calls_, target); }

const KeepIndex::Places& KeepIndex::calls_through(std::int64_t offset) const {
  return places_in(calls_through_, offset);
}

const KeepIndex::Copies& KeepIndex::copies(std::int64_t offset) const { return places_in(copies_, offset); }

const KeepIndex::Places& KeepIndex::stores(std::int64_t offset) const { return places_in(stores_, offset); }

const KeepIndex::Places& KeepIndex::clears(std::int64_t offset) const { return places_in(clears_, offset); }

}  // namespace refhist
