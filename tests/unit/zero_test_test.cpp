// Where an inlined put finds that it is the last one, instruction by instruction.
#include "x86/zero_test.h"

#include <doctest/doctest.h>

#include <vector>

using namespace refhist;

namespace {

constexpr Address kBegin = 0x1000;

/// The test before the last instruction, which must be the jump.
std::optional<ZeroTest> last_test(const std::vector<std::uint8_t>& bytes) {
  const CodeRange code{kBegin, bytes};
  const InstructionDecoder decoder;
  RegisterDistances distances;
  RegisterDistances before;
  DecodedInstruction previous;
  DecodedInstruction instruction;
  for (Address at = kBegin; decoder.decode(code, at, instruction); at = instruction.next()) {
    if (instruction.next() == code.end()) return zero_test(previous, instruction, before);
    before = distances;
    previous = instruction;
    distances.follow(instruction);
  }
  return std::nullopt;
}

struct Told {
  Address at = 0;
  std::int64_t constant = 0;
  std::int64_t displacement = 0;
  Address zero_side = 0;
  bool operator==(const Told&) const = default;
};
Told told(const std::vector<std::uint8_t>& bytes) {
  const auto found = last_test(bytes);
  if (!found) return {};
  const CounterInstruction& counter = found->instruction;
  CHECK(counter.kind == CounterInstruction::Kind::last);
  CHECK(counter.step() == -1);
  return {counter.address - kBegin, counter.constant, counter.displacement, found->zero_side - kBegin};
}

}  // namespace

TEST_CASE("a last put is told by what is compared") {
  // mov eax,[rdi+8]; sub eax,1; je +16
  CHECK(told({0x8b, 0x47, 0x08, 0x83, 0xe8, 0x01, 0x74, 0x10}) == Told{3, 1, 8, 0x18});
  // mov eax,[rdi+8]; cmp eax,1; jne +16: zero is behind the jump
  CHECK(told({0x8b, 0x47, 0x08, 0x83, 0xf8, 0x01, 0x75, 0x10}) == Told{3, 1, 8, 8});
  // mov eax,[rdi+8]; cmp eax,2; jl +16
  CHECK(told({0x8b, 0x47, 0x08, 0x83, 0xf8, 0x02, 0x7c, 0x10}) == Told{3, 1, 8, 0x18});
  // mov eax,[rdi+8]; dec eax; test eax,eax; je +16
  CHECK(told({0x8b, 0x47, 0x08, 0xff, 0xc8, 0x85, 0xc0, 0x74, 0x10}) == Told{5, 1, 8, 0x19});
  // cmp dword [rbx+8],1; jne +16
  CHECK(told({0x83, 0x7b, 0x08, 0x01, 0x75, 0x10}) == Told{0, 1, 8, 6});
  // lea rdx,[rdi+8]; mov eax,[rdx]; cmp eax,1; je +16
  CHECK(told({0x48, 0x8d, 0x57, 0x08, 0x8b, 0x02, 0x83, 0xf8, 0x01, 0x74, 0x10}) == Told{6, 1, 8, 0x1b});
}

TEST_CASE("what tells no last put") {
  // test eax,eax of what was loaded: that is whether there is any reference at all
  CHECK_FALSE(last_test({0x8b, 0x47, 0x08, 0x85, 0xc0, 0x74, 0x10}).has_value());
  // sub dword [rdi+8],1; je: it changes the counter itself
  CHECK_FALSE(last_test({0x83, 0x6f, 0x08, 0x01, 0x74, 0x10}).has_value());
  // mov eax,[rdi+8]; mov rdi,rbx; cmp eax,1; je: the object's address is gone
  CHECK_FALSE(last_test({0x8b, 0x47, 0x08, 0x48, 0x89, 0xdf, 0x83, 0xf8, 0x01, 0x74, 0x10}).has_value());
  // mov eax,[rdi+8]; cmp eax,1; js: no comparison with zero
  CHECK_FALSE(last_test({0x8b, 0x47, 0x08, 0x83, 0xf8, 0x01, 0x78, 0x10}).has_value());
  // cmp eax,1; je: nothing tells what was loaded
  CHECK_FALSE(last_test({0x83, 0xf8, 0x01, 0x74, 0x10}).has_value());
}
