// Through which words a value has come, and what has given it to the function.
#include "x86/value_origin.h"

#include <doctest/doctest.h>

#include <map>
#include <vector>

#include "x86/code_range.h"
#include "x86/decoded_instruction.h"

using namespace refhist;

namespace {

using Bytes = std::vector<std::uint8_t>;

const Bytes kLoad{0x48, 0x8b, 0x47, 0x08};        // mov rax, [rdi+8]
const Bytes kSpill{0x48, 0x89, 0x45, 0xf8};       // mov [rbp-8], rax
const Bytes kReload{0x48, 0x8b, 0x4d, 0xf8};      // mov rcx, [rbp-8]
const Bytes kCall{0xe8, 0x00, 0x00, 0x00, 0x00};  // call
const Bytes kKeep{0x48, 0x89, 0xc3};              // mov rbx, rax
const Bytes kPass{0x48, 0x89, 0xdf};              // mov rdi, rbx
const Bytes kHandOn{0x48, 0x89, 0xf7};            // mov rdi, rsi

constexpr Address kHolder = 0x1000;
constexpr Address kFrame = 0x9000;
constexpr Address kObject = 0x5000;

class OriginFixture {
 public:
  OriginFixture() {
    registers[kRdi] = kHolder;
    registers[kRbp] = kFrame;
    registers[kRsp] = kFrame - 0x40;
    memory = {{kHolder + 8, kObject}, {kFrame - 8, kObject}};
  }
  [[nodiscard]] ValueOrigin behind(const std::vector<Bytes>& code, bool from_entry = false) const {
    Bytes bytes;
    for (const Bytes& one : code) bytes.insert(bytes.end(), one.begin(), one.end());
    const CodeRange range{0x400000, bytes};
    StraightWay way;
    way.from_entry = from_entry;
    DecodedInstruction instruction;
    for (Address at = range.address; at < range.end(); at = instruction.next()) {
      REQUIRE(InstructionDecoder().decode(range, at, instruction));
      way.instructions.push_back(instruction);
    }
    const auto read = [this](Address address, Address& word) {
      const auto found = memory.find(address);
      if (found != memory.end()) word = found->second;
      return found != memory.end();
    };
    return ValueOrigin(std::move(way), 0, registers, ValueOrigin::Known::all, read, {});
  }

  Registers registers;
  std::map<Address, Address> memory;
};
using Words = std::vector<Address>;
using By = ValueOrigin::Root::By;

}  // namespace

TEST_CASE_FIXTURE(OriginFixture, "a variable in the frame has what was loaded and stored there") {
  const std::vector<Bytes> code{kLoad, kSpill, kReload};
  SUBCASE("as memory still says") { CHECK(behind(code).of_register(kRcx)->read == Words{kHolder + 8}); }
  SUBCASE("and it was cleared in memory") {
    memory[kHolder + 8] = 0;
    const auto traced = behind(code).of_register(kRcx);
    REQUIRE(traced);
    CHECK(traced->read == Words{kHolder + 8});
    CHECK(traced->value == kObject);
  }
  SUBCASE("what memory has now is something else") {
    memory[kHolder + 8] = kObject + 0x100;
    CHECK(behind(code).of_register(kRcx)->read == Words{kFrame - 8});
  }
  SUBCASE("nobody has seen what was stored") {
    CHECK(behind({kReload}).of_register(kRcx)->read == Words{kFrame - 8});
  }
}

TEST_CASE_FIXTURE(OriginFixture, "a value comes from a call, from the caller, or nobody knows") {
  CHECK(behind({kCall, kKeep, kPass}).root_of_register(kRdi).by == By::call);
  CHECK(behind({kCall, kSpill, kReload}).root_of_register(kRcx).by == By::call);
  CHECK(behind({kCall}).root_of_register(kRdi).by == By::unknown);
  CHECK(behind({kLoad}, true).root_of_register(kRax).by == By::unknown);
  const ValueOrigin::Root given = behind({kHandOn}, true).root_of_register(kRdi);
  CHECK(given.by == By::caller);
  CHECK(given.reg == kRsi);
  CHECK(behind({kHandOn}).root_of_register(kRdi).by == By::unknown);
}
