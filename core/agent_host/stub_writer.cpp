#include "agent_host/stub_writer.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "agent_host/assembler.h"
#include "patching/relocator.h"
#include "port/registers.h"
#include "x86/decoded_instruction.h"

namespace refhist {

namespace {
using Gpr = Assembler::Gpr;

constexpr std::size_t kMostBytes = 512;
constexpr std::int32_t kWord = 8;
constexpr std::int32_t kRedZone = 128;
constexpr std::int32_t kAttempt = 16;  // agent::Attempt
constexpr std::int32_t kSavedBytes = sizeof(agent::Saved);
// In the order in which agent::Saved has them from its end on, after rax and the flags.
constexpr std::array kSaved{Gpr::rcx, Gpr::rdx, Gpr::rsi, Gpr::rdi, Gpr::r8, Gpr::r9, Gpr::r10, Gpr::r11};

Gpr gpr(std::uint8_t dwarf_number) {
  constexpr std::array kByNumber{Gpr::rax, Gpr::rdx, Gpr::rcx, Gpr::rbx, Gpr::rsi, Gpr::rdi,
                                 Gpr::rbp, Gpr::rsp, Gpr::r8,  Gpr::r9,  Gpr::r10, Gpr::r11,
                                 Gpr::r12, Gpr::r13, Gpr::r14, Gpr::r15};
  return kByNumber[dwarf_number];
}

class StubAssembler {
 public:
  StubAssembler(Address begin, std::int32_t cfa) : code_(begin), begin_(begin), cfa_(cfa) { note(); }

  Assembler& code() { return code_; }
  [[nodiscard]] std::uint32_t offset() const { return static_cast<std::uint32_t>(code_.here() - begin_); }
  [[nodiscard]] const std::vector<FrameRow>& rows() const { return rows_; }

  void push(Gpr reg) {
    code_.push(reg);
    moved(kWord);
  }
  void pop(Gpr reg) {
    code_.pop(reg);
    moved(-kWord);
  }
  void lower_stack(std::int32_t bytes) {
    code_.move_stack(-bytes);
    moved(bytes);
  }
  /// What the function has done before the jump.
  void take_back(const FunctionStart& start) {
    const auto pushed = static_cast<std::int32_t>(start.pushed.size()) * kWord;
    if (start.framed) {
      code_.load_address(Gpr::rsp, Assembler::Memory{Gpr::rbp, {}, 1, kWord - pushed});
      set_cfa(kWord + pushed);
    } else if (start.room != 0) {
      lower_stack(-start.room);
    }
    for (auto reg = start.pushed.rbegin(); reg != start.pushed.rend(); ++reg)
      pop(gpr(static_cast<std::uint8_t>(reg->number)));
  }
  void set_cfa(std::int32_t cfa) {
    cfa_ = cfa;
    note();
  }

  void save_registers() {
    push(Gpr::rax);
    code_.save_flags();
    push(Gpr::rax);
    for (const Gpr reg : kSaved) push(reg);
  }
  void restore_registers() {
    for (auto reg = kSaved.rbegin(); reg != kSaved.rend(); ++reg) pop(*reg);
    pop(Gpr::rax);
    code_.restore_flags();
    pop(Gpr::rax);
  }
  /// Into the agent's fourth and fifth argument. Of the registers, only rax is another one than the
  /// program's.
  void load_counter(const CounterOperands& operands) {
    const CounterInstruction& counter = operands.instruction;
    constexpr std::uint8_t kNone = CounterInstruction::kNoRegister;
    code_.load_from_stack(Gpr::rax, kSavedBytes - kWord);
    if (counter.source != kNone) push(gpr(counter.source));
    if (counter.base == kNone) {
      code_.load_address(Gpr::rcx, static_cast<Address>(counter.displacement) + operands.bias);
    } else {
      Assembler::Memory memory;
      memory.base = gpr(counter.base);
      if (counter.index != kNone) memory.index = gpr(counter.index);
      memory.scale = counter.scale;
      memory.displacement = static_cast<std::int32_t>(counter.displacement);
      code_.load_address(Gpr::rcx, memory);
    }
    if (counter.source != kNone) {
      pop(Gpr::r8);
    } else {
      code_.load_constant(Gpr::r8, static_cast<std::int32_t>(counter.constant));
    }
  }
  /// `pushed`: registers of the caller's that are on the stack, perhaps with the frame pointer.
  void call_agent(Address site, Address function, const std::vector<PushedRegister>& pushed = {}) {
    code_.load_address(Gpr::rdi, site);
    code_.move(Gpr::rsi, Gpr::rsp);
    const auto rbp = std::find_if(pushed.begin(), pushed.end(),
                                  [](const PushedRegister& reg) { return reg.number == kRbp; });
    if (rbp == pushed.end()) {
      code_.move(Gpr::rdx, Gpr::rbp);
    } else {
      code_.load_from_stack(Gpr::rdx, cfa_ - rbp->below_cfa);
    }
    code_.call(function);
  }

 private:
  void moved(std::int32_t bytes) {
    cfa_ += bytes;
    note();
  }
  void note() { rows_.push_back(FrameRow{offset(), cfa_}); }

  Assembler code_;
  Address begin_;
  std::int32_t cfa_;
  std::vector<FrameRow> rows_;
};

Gpr argument_register(std::uint8_t place) {
  switch (place) {
    case agent::argument_place(2):
      return Gpr::rsi;
    case agent::argument_place(3):
      return Gpr::rdx;
    case agent::argument_place(4):
      return Gpr::rcx;
    case agent::argument_place(5):
      return Gpr::r8;
    case agent::argument_place(6):
      return Gpr::r9;
    default:
      return Gpr::rdi;
  }
}

// From its end on as at the function's entry.
StubAssembler begin_at_entry(const Patch& patch, Stub& stub) {
  const std::int32_t depth = patch.start.empty() ? 0 : patch.start.steps.back().depth;
  StubAssembler code(stub.begin, kWord + patch.sp_delta + depth);
  stub.start = patch.start;
  code.take_back(patch.start);
  stub.at_entry = code.offset();
  return code;
}

// The word that is pushed keeps the stack aligned and the argument for the look at the return.
void call_through(StubAssembler& stub, const agent::Site& site, Address site_address, Address agent,
                  Stub& out) {
  stub.push(argument_register(site.object_argument));
  const std::size_t call = stub.code().call_forward();
  out.returned = stub.offset();
  stub.save_registers();
  stub.call_agent(site_address, agent);
  stub.restore_registers();
  stub.lower_stack(-kWord);
  stub.code().ret();
  stub.code().bind(call);
}

// The instructions that the patch has covered, and the way back.
bool append_moved(StubAssembler& code, const Patch& patch, Stub& stub, std::string& why_not) {
  stub.relocated = code.offset();
  const auto moved = relocate(patch, stub.begin + stub.relocated, &why_not);
  if (!moved) return false;
  code.code().raw(moved->bytes);
  stub.relocated_end = code.offset();
  for (const auto& [from, original] : moved->boundaries)
    stub.boundaries.emplace_back(stub.relocated + from, original);
  return true;
}

/// Those that the patch has covered in front of the probed instruction.
bool append_early(StubAssembler& code, const Patch& patch, Stub& stub, std::string& why_not) {
  const auto moved = relocate(first_part(patch, patch.prefix), stub.begin, &why_not);
  if (!moved) return false;
  code.code().raw(moved->bytes);
  stub.early_end = code.offset();
  stub.early = moved->boundaries;
  return true;
}

// The instruction runs here, and the agent is told whether it has succeeded.
bool finish_attempt(const CodePiece& piece, const Patch& patch, std::int32_t lowered, StubAssembler& code,
                    Stub& stub, std::string& why_not) {
  const unsigned length = InstructionDecoder().length({patch.at, patch.original}, patch.at);
  code.code().store_to_stack(Gpr::rax, kSavedBytes);
  code.code().store_to_stack(Gpr::rdx, kSavedBytes + kWord);
  code.restore_registers();
  const auto moved = relocate(first_part(patch, length), code.code().here(), &why_not);
  if (!moved) return false;
  code.code().raw(moved->bytes);
  code.save_registers();
  code.code().load_from_stack(Gpr::rdi, kSavedBytes);
  code.code().move(Gpr::rsi, Gpr::rsp);
  code.code().load_from_stack(Gpr::rdx, kSavedBytes + kWord);
  code.code().call(piece.agent_attempted());
  code.restore_registers();
  code.lower_stack(-lowered);
  return append_moved(code, rest_of(patch, length), stub, why_not);
}

void append(CodePiece& piece, const agent::Site& descriptor, StubAssembler& code, Stub& stub) {
  stub.end = code.code().here();
  stub.rows = code.rows();
  std::vector<std::uint8_t> bytes(sizeof descriptor);
  std::memcpy(bytes.data(), &descriptor, sizeof descriptor);
  bytes.insert(bytes.end(), code.code().bytes().begin(), code.code().bytes().end());
  piece.append(bytes);
}
}  // namespace

std::optional<Stub> write_stub(CodePiece& piece, const agent::Site& site, const Patch& whole,
                               ReturnTo returns, const std::optional<CounterOperands>& counter,
                               std::string& why_not) {
  const auto place = piece.next(kMostBytes);
  if (!place) {
    why_not = "the code memory near it is full";
    return std::nullopt;
  }
  const Patch patch = with_start(rest_of(whole, whole.prefix));  // inlined copies have none
  const std::int32_t red_zone = (patch.red_zone_live ? kRedZone : 0) + (site.compares != 0 ? kAttempt : 0);
  agent::Site descriptor = site;
  descriptor.sp_bias = patch.sp_delta + red_zone;
  Stub stub;
  stub.site = *place;
  stub.sp_bias = descriptor.sp_bias;
  stub.begin = *place + sizeof descriptor;
  stub.pushed = patch.pushed;
  stub.by_frame_pointer = patch.by_frame_pointer;
  descriptor.by_frame_pointer = patch.by_frame_pointer ? 1 : 0;
  const std::vector<PushedRegister> found_from_sp =
      patch.by_frame_pointer ? std::vector<PushedRegister>() : patch.pushed;
  StubAssembler code = begin_at_entry(patch, stub);
  if (whole.prefix != 0 && !append_early(code, whole, stub, why_not)) return std::nullopt;
  if (red_zone != 0) code.lower_stack(red_zone);
  code.save_registers();
  if (counter) code.load_counter(*counter);
  code.call_agent(*place, site.compares != 0 ? piece.agent_attempt() : piece.agent_entry(), found_from_sp);
  if (site.compares != 0) {
    if (!finish_attempt(piece, patch, red_zone, code, stub, why_not)) return std::nullopt;
    append(piece, descriptor, code, stub);
    return stub;
  }
  std::optional<std::size_t> back;
  if (site.watch != 0) back = code.code().jump_forward_if_set();
  const auto leave = [&] {
    code.restore_registers();
    if (red_zone != 0) code.lower_stack(-red_zone);
  };
  leave();
  if (returns != ReturnTo::nobody) {
    const bool records = returns == ReturnTo::record;
    call_through(code, site, *place, records ? piece.agent_return() : piece.agent_end(), stub);
  }
  if (!append_moved(code, patch, stub, why_not)) return std::nullopt;
  if (back) {
    code.code().bind(*back);
    code.set_cfa(kWord + patch.sp_delta + red_zone + kSavedBytes);
    leave();
    stub.back = whole.beginning();
    code.code().jump(stub.back);
  }
  append(piece, descriptor, code, stub);
  return stub;
}

std::optional<Stub> write_hook(CodePiece& piece, Address handler, const Patch& patch, std::string& why_not) {
  const auto place = piece.next(kMostBytes);
  if (!place || patch.sp_delta != 0 || patch.red_zone_live) {
    why_not = place ? "there is a breakpoint at its entry" : "the code memory near it is full";
    return std::nullopt;
  }
  Stub stub;
  stub.begin = *place;
  StubAssembler code = begin_at_entry(patch, stub);
  code.save_registers();
  code.call_agent(*place, handler);
  const std::size_t handled = code.code().jump_forward_if_set();
  code.restore_registers();
  if (!append_moved(code, with_start(patch), stub, why_not)) return std::nullopt;
  code.code().bind(handled);
  code.set_cfa(kWord + kSavedBytes);
  code.restore_registers();
  code.code().clear_eax();
  code.code().ret();
  stub.end = code.code().here();
  stub.rows = code.rows();
  piece.append(code.code().bytes());
  return stub;
}

}  // namespace refhist
