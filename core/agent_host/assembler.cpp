#include "agent_host/assembler.h"

#include <cstring>

#include "base/error.h"

namespace refhist {

namespace {
unsigned number(Assembler::Gpr reg) { return static_cast<unsigned>(reg); }
constexpr unsigned kRexW = 0x48;
constexpr unsigned kRexB = 0x41;
}  // namespace

void Assembler::word(std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) byte(value >> shift & 0xffU);
}

void Assembler::relative(Address target) {
  const auto distance = static_cast<std::int64_t>(target - (here() + 4));
  if (distance != static_cast<std::int32_t>(distance))
    fail("{:#x} is out of reach from {:#x}", target, here());
  word(static_cast<std::uint32_t>(distance));
}

void Assembler::push(Gpr reg) {
  if (number(reg) >= 8) byte(kRexB);
  byte(0x50 | (number(reg) & 7U));
}

void Assembler::pop(Gpr reg) {
  if (number(reg) >= 8) byte(kRexB);
  byte(0x58 | (number(reg) & 7U));
}

void Assembler::move(Gpr to, Gpr from) {
  byte(kRexW | (number(from) >= 8 ? 4U : 0U) | (number(to) >= 8 ? 1U : 0U));
  byte(0x89);
  byte(0xc0 | (number(from) & 7U) << 3U | (number(to) & 7U));
}

void Assembler::stack_word(unsigned opcode, Gpr reg, std::int32_t offset) {
  byte(kRexW | (number(reg) >= 8 ? 4U : 0U));
  byte(opcode);
  byte(0x84 | (number(reg) & 7U) << 3U);
  byte(0x24);
  word(static_cast<std::uint32_t>(offset));
}

void Assembler::load_from_stack(Gpr to, std::int32_t offset) { stack_word(0x8b, to, offset); }

void Assembler::store_to_stack(Gpr from, std::int32_t offset) { stack_word(0x89, from, offset); }

void Assembler::load_address(Gpr to, Address address) {
  byte(kRexW | (number(to) >= 8 ? 4U : 0U));
  byte(0x8d);
  byte(0x05 | (number(to) & 7U) << 3U);
  relative(address);
}

void Assembler::load_address(Gpr to, const Memory& memory) {
  constexpr unsigned kNoIndex = 4;
  const unsigned index = memory.index ? number(*memory.index) : kNoIndex;
  unsigned scale = 0;
  while (1U << scale < memory.scale) ++scale;
  byte(kRexW | (number(to) >= 8 ? 4U : 0U) | (index >= 8 ? 2U : 0U) | (number(memory.base) >= 8 ? 1U : 0U));
  byte(0x8d);
  byte(0x84 | (number(to) & 7U) << 3U);
  byte(scale << 6U | (index & 7U) << 3U | (number(memory.base) & 7U));
  word(static_cast<std::uint32_t>(memory.displacement));
}

void Assembler::load_constant(Gpr to, std::int32_t value) {
  byte(kRexW | (number(to) >= 8 ? 1U : 0U));
  byte(0xc7);
  byte(0xc0 | (number(to) & 7U));
  word(static_cast<std::uint32_t>(value));
}

void Assembler::move_stack(std::int32_t bytes) {
  for (const unsigned part : {0x48U, 0x8dU, 0xa4U, 0x24U}) byte(part);
  word(static_cast<std::uint32_t>(bytes));
}

void Assembler::save_flags() {
  for (const unsigned part : {0x9fU, 0x0fU, 0x90U, 0xc0U}) byte(part);  // lahf; seto al
}

void Assembler::restore_flags() {
  for (const unsigned part : {0x04U, 0x7fU, 0x9eU}) byte(part);  // add al, 127 sets OF when al is 1; sahf
}

void Assembler::call(Address target) {
  byte(0xe8);
  relative(target);
}

void Assembler::jump(Address target) {
  byte(0xe9);
  relative(target);
}

void Assembler::ret() { byte(0xc3); }

void Assembler::clear_eax() {
  byte(0x31);
  byte(0xc0);
}

std::size_t Assembler::jump_forward_if_set() {
  for (const unsigned part : {0x85U, 0xc0U, 0x0fU, 0x85U}) byte(part);
  word(0);
  return bytes_.size() - 4;
}

void Assembler::raw(std::span<const std::uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

std::size_t Assembler::call_forward() {
  byte(0xe8);
  word(0);
  return bytes_.size() - 4;
}

void Assembler::bind(std::size_t call) {
  const auto distance = static_cast<std::uint32_t>(bytes_.size() - (call + 4));
  std::memcpy(bytes_.data() + call, &distance, sizeof distance);
}

}  // namespace refhist
