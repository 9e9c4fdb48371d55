#include "patching/relocator.h"

#include <fmt/core.h>

#include <cstring>
#include <initializer_list>

#include "x86/decoded_instruction.h"

namespace refhist {
namespace {

constexpr std::uint8_t kJumpShort = 0xeb;
constexpr std::uint8_t kJump = 0xe9;
constexpr std::uint8_t kCall = 0xe8;
constexpr std::uint8_t kAddressSize = 0x67;

class Relocator {
 public:
  Relocator(const Patch& patch, Address stub) : patch_(patch), stub_(stub), code_{patch.at, patch.original} {}

  std::optional<Relocated> run(std::string* why_not);

 private:
  /// Four bytes that hold the distance from `end` to the target.
  struct Distance {
    std::uint32_t place;
    std::uint32_t end;
    Address target;
  };

  void put(std::initializer_list<std::uint8_t> bytes) { out_.bytes.insert(out_.bytes.end(), bytes); }
  [[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(out_.bytes.size()); }
  /// The instruction that is emitted next does what stands at `original`.
  void boundary(Address original) {
    out_.boundaries.emplace_back(here(), static_cast<std::uint32_t>(original - patch_.function));
  }
  void put_distance(Address target) {
    distances_.push_back({here(), here() + 4, target});
    put({0, 0, 0, 0});
  }
  void emit(const DecodedInstruction& instruction);
  void emit_branch(const DecodedInstruction& instruction, Address target);
  void emit_counted_branch(const DecodedInstruction& instruction, Address target);
  void emit_copy(const DecodedInstruction& instruction);
  /// Where in the stub or elsewhere a branch to this original address goes now; nothing when into an
  /// instruction.
  [[nodiscard]] std::optional<Address> moved(Address target) const;
  std::string fill_in(const Distance& distance);

  const Patch& patch_;
  Address stub_;
  CodeRange code_;
  Relocated out_;
  std::vector<Distance> distances_;
  std::vector<std::pair<Address, std::uint32_t>> moved_;  // covered instruction -> offset in the stub
};

std::optional<Relocated> Relocator::run(std::string* why_not) {
  const InstructionDecoder decoder;
  DecodedInstruction instruction;
  for (Address at = patch_.at; at < code_.end(); at = instruction.next()) {
    if (!decoder.decode(code_, at, instruction)) {
      *why_not = fmt::format("unknown instruction at {:#x}", at);
      return std::nullopt;
    }
    emit(instruction);
    if (!instruction.falls_through()) break;  // padding is left behind
  }
  if (patch_.falls_through) {
    boundary(code_.end());
    put({kJump});
    put_distance(code_.end());
  }
  for (const Distance& distance : distances_) {
    std::string reason = fill_in(distance);
    if (reason.empty()) continue;
    *why_not = std::move(reason);
    return std::nullopt;
  }
  return std::move(out_);
}

void Relocator::emit(const DecodedInstruction& instruction) {
  moved_.emplace_back(instruction.address, here());
  boundary(instruction.address);
  if (const auto target = instruction.branch_target()) {
    emit_branch(instruction, *target);
  } else {
    emit_copy(instruction);
  }
}

void Relocator::emit_branch(const DecodedInstruction& instruction, Address target) {
  if (instruction.is_call()) {
    put({kCall});
  } else if (instruction.is_jump()) {
    put({kJump});
  } else if (instruction.raw.mnemonic == ZYDIS_MNEMONIC_XBEGIN) {
    put({0xc7, 0xf8});
  } else if ((instruction.raw.opcode & 0xfc) == 0xe0) {
    emit_counted_branch(instruction, target);
    return;
  } else {
    put({0x0f, static_cast<std::uint8_t>(0x80 | (instruction.raw.opcode & 0xf))});
  }
  put_distance(target);
}

/// `loop taken; jmp short on; taken: jmp target; on:`. Behind the first instruction rcx has been counted down
/// already: a thread there has either passed the branch or taken it.
void Relocator::emit_counted_branch(const DecodedInstruction& instruction, Address target) {
  if ((instruction.raw.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) != 0) put({kAddressSize});
  put({instruction.raw.opcode, 2});
  boundary(instruction.next());
  put({kJumpShort, 5});
  boundary(target);
  put({kJump});
  put_distance(target);
}

void Relocator::emit_copy(const DecodedInstruction& instruction) {
  const std::uint32_t start = here();
  const auto bytes = code_.from(instruction.address).bytes.first(instruction.raw.length);
  out_.bytes.insert(out_.bytes.end(), bytes.begin(), bytes.end());
  const auto target = instruction.rip_target();
  if (target) distances_.push_back({start + instruction.raw.raw.disp.offset, here(), *target});
}

std::optional<Address> Relocator::moved(Address target) const {
  if (target <= patch_.at || target >= code_.end()) return target;
  for (const auto& [original, offset] : moved_) {
    if (original == target) return stub_ + offset;
  }
  return std::nullopt;
}

std::string Relocator::fill_in(const Distance& distance) {
  const auto target = moved(distance.target);
  if (!target)
    return fmt::format("a patched branch goes into the middle of an instruction at {:#x}", distance.target);
  const auto value = static_cast<std::int64_t>(*target - (stub_ + distance.end));
  const auto narrow = static_cast<std::int32_t>(value);
  if (narrow != value) {
    return fmt::format("{:#x} is more than 2 GiB away from the stub at {:#x}", *target, stub_);
  }
  std::memcpy(out_.bytes.data() + distance.place, &narrow, sizeof narrow);
  return {};
}

}  // namespace

std::optional<Relocated> relocate(const Patch& patch, Address stub, std::string* why_not) {
  return Relocator(patch, stub).run(why_not);
}

std::array<std::uint8_t, kJumpSize> jump_bytes(Address from, Address to) {
  std::array<std::uint8_t, kJumpSize> bytes{kJump};
  const auto distance = static_cast<std::int32_t>(to - (from + kJumpSize));
  std::memcpy(bytes.data() + 1, &distance, sizeof distance);
  return bytes;
}

}  // namespace refhist
