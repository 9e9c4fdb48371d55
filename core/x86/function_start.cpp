#include "x86/function_start.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "x86/decoded_instruction.h"

namespace refhist {

namespace {

constexpr std::array<std::uint8_t, 4> kBuildsFrame{0x55, 0x48, 0x89, 0xe5};  // push rbp; mov rbp, rsp
constexpr std::int32_t kWord = sizeof(Address);

bool is_argument(ZydisRegister reg) {
  switch (whole_register(reg)) {
    case ZYDIS_REGISTER_RDI:
    case ZYDIS_REGISTER_RSI:
    case ZYDIS_REGISTER_RDX:
    case ZYDIS_REGISTER_RCX:
    case ZYDIS_REGISTER_R8:
    case ZYDIS_REGISTER_R9:
    case ZYDIS_REGISTER_RAX:  // a narrow one on its way to the frame
      return true;
    default:
      return whole_register(reg) >= ZYDIS_REGISTER_ZMM0 && whole_register(reg) <= ZYDIS_REGISTER_ZMM7;
  }
}

std::optional<unsigned> preserved_operand(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER ? preserved_number(operand.reg.value) : std::nullopt;
}

bool is_move(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_MOV || mnemonic == ZYDIS_MNEMONIC_MOVSS ||
         mnemonic == ZYDIS_MNEMONIC_MOVSD || mnemonic == ZYDIS_MNEMONIC_MOVAPS ||
         mnemonic == ZYDIS_MNEMONIC_MOVQ;
}

bool is_test(ZydisMnemonic mnemonic) {
  return mnemonic == ZYDIS_MNEMONIC_TEST || mnemonic == ZYDIS_MNEMONIC_CMP;
}

class StartReader {
 public:
  /// False when the instruction is of another kind.
  bool add(const DecodedInstruction& instruction) {
    const bool fits = instruction.raw.mnemonic == ZYDIS_MNEMONIC_PUSH  ? push(instruction)
                      : instruction.raw.mnemonic == ZYDIS_MNEMONIC_SUB ? make_room(instruction)
                      : is_move(instruction.raw.mnemonic)              ? move(instruction)
                      : is_test(instruction.raw.mnemonic)              ? reads_registers(instruction)
                                                                       : false;
    end_ += instruction.raw.length;
    start_.steps.push_back({end_, depth_});
    return fits;
  }
  [[nodiscard]] FunctionStart take() { return std::move(start_); }

 private:
  bool push(const DecodedInstruction& instruction) {
    const ZydisDecodedOperand& reg = instruction.operands[0];
    const auto number = reg.type == ZYDIS_OPERAND_TYPE_REGISTER ? dwarf_number(reg.reg.value) : std::nullopt;
    if (!number || *number == kRsp || instruction.raw.operand_width != 64 || start_.room != 0) return false;
    depth_ += kWord;
    start_.pushed.push_back({*number, depth_ + kWord});
    return true;
  }
  bool make_room(const DecodedInstruction& instruction) {
    const auto& [to, from] = std::tie(instruction.operands[0], instruction.operands[1]);
    const bool fits = is_register(to, ZYDIS_REGISTER_RSP) && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
                      from.imm.value.s > 0 && start_.room == 0;
    if (!fits) return false;
    start_.room = static_cast<std::int32_t>(from.imm.value.s);
    depth_ += start_.room;
    return true;
  }
  // Flags mean nothing where a function begins.
  bool reads_registers(const DecodedInstruction& instruction) {
    return std::all_of(instruction.operands.begin(),
                       instruction.operands.begin() + instruction.raw.operand_count_visible,
                       [&](const ZydisDecodedOperand& operand) {
                         note_read(operand);
                         return operand.type != ZYDIS_OPERAND_TYPE_MEMORY;
                       });
  }
  // What a function with variable arguments was called with.
  void note_read(const ZydisDecodedOperand& operand) {
    const bool rax = operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
                     whole_register(operand.reg.value) == ZYDIS_REGISTER_RAX;
    needs_rax_ = needs_rax_ || (rax && !wrote_rax_);
  }
  // It is not put back: who has read it may not find another value the second time.
  bool write_rax() {
    wrote_rax_ = true;
    return !needs_rax_;
  }
  bool move(const DecodedInstruction& instruction) {
    const auto& [to, from] = std::tie(instruction.operands[0], instruction.operands[1]);
    if (is_register(to, ZYDIS_REGISTER_RBP) && is_register(from, ZYDIS_REGISTER_RSP)) {
      start_.framed =
          start_.steps.size() == 1 && start_.pushed.size() == 1 && start_.pushed[0].number == kRbp;
      return start_.framed;
    }
    if (from.type != ZYDIS_OPERAND_TYPE_REGISTER || !is_argument(from.reg.value)) return false;
    note_read(from);
    if (to.type == ZYDIS_OPERAND_TYPE_MEMORY)
      return start_.framed && to.mem.base == ZYDIS_REGISTER_RBP && to.mem.index == ZYDIS_REGISTER_NONE &&
             to.mem.disp.value < 0;
    if (whole_register(to.reg.value) == ZYDIS_REGISTER_RAX) return write_rax();
    if (start_.framed && whole_register(to.reg.value) == ZYDIS_REGISTER_RBP) return false;
    const auto number = preserved_operand(to);
    return number && std::any_of(start_.pushed.begin(), start_.pushed.end(),
                                 [&](const PushedRegister& pushed) { return pushed.number == *number; });
  }

  FunctionStart start_;
  unsigned end_ = 0;
  std::int32_t depth_ = 0;
  bool needs_rax_ = false;
  bool wrote_rax_ = false;
};

}  // namespace

std::optional<FunctionStart> read_function_start(const CodeRange& function, Address begin, Address end) {
  const InstructionDecoder decoder;
  StartReader reader;
  DecodedInstruction instruction;
  for (Address at = begin; at != end; at = instruction.next()) {
    const bool fits = at < end && decoder.decode(function, at, instruction) && reader.add(instruction);
    if (!fits) return std::nullopt;
  }
  FunctionStart start = reader.take();
  const auto bytes = function.from(begin).bytes.first(end - begin);
  start.code.assign(bytes.begin(), bytes.end());
  return start;
}

std::optional<Address> end_of_frame(const CodeRange& function, Address begin) {
  const auto bytes = function.from(begin).bytes;
  const bool frame = bytes.size() > kBuildsFrame.size() &&
                     std::equal(kBuildsFrame.begin(), kBuildsFrame.end(), bytes.begin());
  return frame ? std::optional(begin + kBuildsFrame.size()) : std::nullopt;
}

std::optional<Address> end_of_stored_arguments(const CodeRange& function, Address begin) {
  if (!end_of_frame(function, begin)) return std::nullopt;
  const InstructionDecoder decoder;
  StartReader reader;
  DecodedInstruction instruction;
  Address at = begin;
  while (decoder.decode(function, at, instruction) && reader.add(instruction)) at = instruction.next();
  return at;
}

bool FunctionStart::take_back(unsigned left, Registers& registers, const ReadWord& read) const {
  constexpr std::size_t kOfFrame = 2;  // instructions
  if (left >= code.size()) return true;
  const auto step =
      std::find_if(steps.begin(), steps.end(), [&](const Step& s) { return s.end + left == code.size(); });
  if (step == steps.end()) return false;
  const bool by_frame = framed && step - steps.begin() + 1 >= static_cast<std::ptrdiff_t>(kOfFrame);
  const Address sp = by_frame ? registers[kRbp] + kWord : registers.sp() + static_cast<Address>(step->depth);
  for (const PushedRegister& reg : pushed) {
    const bool there = reg.below_cfa - kWord <= step->depth;
    if (there && !read(sp + kWord - static_cast<Address>(reg.below_cfa), registers[reg.number])) return false;
  }
  registers[kRsp] = sp;
  return true;
}

}  // namespace refhist
