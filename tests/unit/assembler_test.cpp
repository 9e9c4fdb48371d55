// What the assembler writes, as Zydis reads it.
#include "agent_host/assembler.h"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "base/error.h"
#include "x86/decoded_instruction.h"

namespace refhist::test {

namespace {

using Gpr = Assembler::Gpr;
constexpr Address kBegin = 0x10000;
constexpr std::array kAll{Gpr::rax, Gpr::rcx, Gpr::rdx, Gpr::rbx, Gpr::rsp, Gpr::rbp, Gpr::rsi, Gpr::rdi,
                          Gpr::r8,  Gpr::r9,  Gpr::r10, Gpr::r11, Gpr::r12, Gpr::r13, Gpr::r14, Gpr::r15};
constexpr std::array kNames{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                            "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

std::string name(Gpr reg) { return kNames[static_cast<std::size_t>(reg)]; }

std::vector<std::string> disassembled(const Assembler& code) {
  const InstructionDecoder decoder;
  ZydisFormatter formatter;
  ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
  ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_FORCE_SIZE, ZYAN_FALSE);
  std::vector<std::string> lines;
  DecodedInstruction instruction;
  for (Address at = kBegin; at < code.here(); at = instruction.next()) {
    REQUIRE(decoder.decode({kBegin, code.bytes()}, at, instruction));
    std::array<char, 128> text{};
    ZydisFormatterFormatInstruction(&formatter, &instruction.raw, instruction.operands.data(),
                                    instruction.raw.operand_count_visible, text.data(), text.size(), at,
                                    nullptr);
    lines.emplace_back(text.data());
  }
  return lines;
}

template <class Write>
std::string one(Write&& write) {
  Assembler code(kBegin);
  write(code);
  const std::vector<std::string> lines = disassembled(code);
  REQUIRE(lines.size() == 1);
  return lines.front();
}

}  // namespace

TEST_CASE("assembler: each register has its place in each instruction") {
  for (const Gpr reg : kAll) {
    CAPTURE(name(reg));
    CHECK(one([&](Assembler& code) { code.push(reg); }) == "push " + name(reg));
    CHECK(one([&](Assembler& code) { code.pop(reg); }) == "pop " + name(reg));
    CHECK(one([&](Assembler& code) { code.load_from_stack(reg, 0x1234); }) ==
          "mov " + name(reg) + ", [rsp+0x1234]");
    CHECK(one([&](Assembler& code) { code.store_to_stack(reg, -8); }) == "mov [rsp-0x08], " + name(reg));
    CHECK(one([&](Assembler& code) { code.load_address(reg, kBegin + 0x107); }) ==
          "lea " + name(reg) + ", [0x0000000000010107]");
    CHECK(one([&](Assembler& code) { code.load_constant(reg, -2); }).starts_with("mov " + name(reg) + ", "));
    for (const Gpr other : kAll)
      CHECK(one([&](Assembler& code) { code.move(reg, other); }) == "mov " + name(reg) + ", " + name(other));
  }
}

TEST_CASE("assembler: memory operands with every base, index and scale") {
  for (const Gpr base : kAll) {
    for (const Gpr index : kAll) {
      if (index == Gpr::rsp) continue;
      for (const std::uint8_t scale : {1, 2, 4, 8}) {
        const std::string text = one([&](Assembler& code) {
          code.load_address(Gpr::r9, {base, index, scale, 0x40});
        });
        CHECK(text == "lea r9, [" + name(base) + "+" + name(index) + "*" + std::to_string(scale) + "+0x40]");
      }
    }
    CHECK(one([&](Assembler& code) {
            code.load_address(Gpr::rdi, {base, {}, 1, 0});
          }).starts_with("lea rdi, [" + name(base)));
  }
}

TEST_CASE("assembler: calls and jumps reach their targets, forward ones once they are bound") {
  Assembler code(kBegin);
  const std::size_t skip = code.jump_forward_if_set();
  const std::size_t call = code.call_forward();
  code.ret();
  code.bind(skip);
  code.bind(call);
  const Address target = code.here();
  code.jump(kBegin);
  code.call(kBegin + 0x2000);
  const InstructionDecoder decoder;
  DecodedInstruction instruction;
  std::vector<Address> targets;
  for (Address at = kBegin; at < code.here(); at = instruction.next()) {
    REQUIRE(decoder.decode({kBegin, code.bytes()}, at, instruction));
    if (const auto to = instruction.branch_target()) targets.push_back(*to);
  }
  CHECK(targets == std::vector<Address>{target, target, kBegin, kBegin + 0x2000});
}

TEST_CASE("assembler: what is out of reach is refused") {
  Assembler code(kBegin);
  CHECK_THROWS_AS(code.jump(kBegin + (Address{1} << 32U)), Error);
  CHECK_THROWS_AS(code.load_address(Gpr::rax, Address{1} << 40U), Error);
}

}  // namespace refhist::test
