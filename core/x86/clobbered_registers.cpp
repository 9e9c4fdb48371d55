#include "x86/clobbered_registers.h"

#include <optional>
#include <set>
#include <vector>

#include "port/registers.h"

namespace refhist {

namespace {

constexpr std::size_t kFunctions = 64;      // that one call may lead to
constexpr std::size_t kBytes = 64U << 10U;  // of their code

constexpr ClobberedRegisters::Set bit(unsigned reg) { return ClobberedRegisters::Set{1} << reg; }

bool enters_kernel(const DecodedInstruction& instruction) {
  return instruction.raw.meta.category == ZYDIS_CATEGORY_SYSCALL ||
         instruction.raw.meta.category == ZYDIS_CATEGORY_INTERRUPT;
}

}  // namespace

ClobberedRegisters::Set ClobberedRegisters::written_by(const DecodedInstruction& instruction) {
  Set written = 0;
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    const ZydisDecodedOperand& operand = instruction.operands[i];
    const bool writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (!writes || operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    if (const auto number = dwarf_number(operand.reg.value)) written |= bit(*number);
  }
  return written;
}

const ClobberedRegisters::Set ClobberedRegisters::kByConvention =
    bit(kRax) | bit(kRcx) | bit(kRdx) | bit(kRsi) | bit(kRdi) | bit(kR8) | bit(kR9) | bit(kR10) | bit(kR11);

/// Reads a function and all that it calls or jumps to.
class ClobberedRegisters::Reader {
 public:
  explicit Reader(const Module& module) : module_(module) {}

  /// Nothing when a part of the code is not known.
  std::optional<Set> read(Address begin) {
    for (waiting_ = {begin}; !waiting_.empty();) {
      const Address at = waiting_.back();
      waiting_.pop_back();
      if (!read_function(at)) return std::nullopt;
    }
    return written_;
  }

 private:
  bool read_function(Address at) {
    const auto symbol = module_.function_at(at);
    if (!symbol || symbol->size == 0 || symbol->ifunc) return false;
    if (!seen_.insert(symbol->address).second) return true;
    bytes_ += symbol->size;
    if (seen_.size() > kFunctions || bytes_ > kBytes) return false;
    std::vector<std::uint8_t> bytes(symbol->size);
    return module_.read_code(symbol->address, bytes.data(), bytes.size()) &&
           read_code({symbol->address, bytes});
  }

  bool read_code(const CodeRange& code) {
    DecodedInstruction instruction;
    for (Address at = code.address; at < code.end(); at = instruction.next()) {
      if (!decoder_.decode(code, at, instruction) || !read_instruction(code, instruction)) return false;
    }
    // What falls out of its own end goes on in code that was not read. Behind a call there, nothing returns.
    return instruction.is_call() || instruction.is_padding() || !instruction.falls_through();
  }

  bool read_instruction(const CodeRange& code, const DecodedInstruction& instruction) {
    if (enters_kernel(instruction)) return false;
    written_ |= ClobberedRegisters::written_by(instruction);
    const auto target = instruction.branch_target();
    if (!target) return !instruction.is_call() && !instruction.is_indirect_jump();
    if (instruction.is_call() || !code.contains(*target)) waiting_.push_back(*target);
    return true;
  }

  const Module& module_;
  InstructionDecoder decoder_;
  std::vector<Address> waiting_;
  std::set<Address> seen_;
  std::size_t bytes_ = 0;
  Set written_ = 0;
};

ClobberedRegisters::Set ClobberedRegisters::of_call(const DecodedInstruction& call) {
  const auto target = call.branch_target();
  return target ? of_function(*target) : kByConvention;
}

ClobberedRegisters::Set ClobberedRegisters::of_function(Address begin) {
  const auto [known, added] = known_.try_emplace(begin, kByConvention);
  if (!added) return known->second;
  if (const auto written = Reader(module_).read(begin)) known->second &= *written;
  return known->second;
}

}  // namespace refhist
