#include "x86/prologue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace refhist {
namespace {
constexpr Address kFunction = 0x1000;
constexpr Address kStack = 0x8000;

std::optional<PrologueEnd> prologue_of(const std::vector<std::uint8_t>& code, Address end = ~Address{0}) {
  Registers registers;
  registers[kRsp] = kStack;
  registers[kRip] = kFunction;
  registers[kRbp] = 0xbb;
  registers[kRbx] = 0x99;
  registers[kRdi] = 0x1122334455667788;
  registers[kRsi] = 0xffffffff00000007;
  return run_prologue({kFunction, code}, end, registers);
}

std::vector<Address> stored_at(const PrologueEnd& end) {
  std::vector<Address> places;
  for (const PrologueEnd::Store& store : end.stores) places.push_back(store.at);
  return places;
}
}  // namespace

TEST_CASE("a prologue is run until the arguments are stored") {
  // endbr64; push rbp; mov rbp,rsp; push rbx; sub rsp,0x28; mov [rbp-0x28],rdi; mov eax,esi; mov
  // [rbp-0x2c],al; mov rax,[rbp-0x28]
  const auto end =
      prologue_of({0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x28,
                   0x48, 0x89, 0x7d, 0xd8, 0x89, 0xf0, 0x88, 0x45, 0xd4, 0x48, 0x8b, 0x45, 0xd8});
  REQUIRE(end);
  CHECK(end->registers.pc() == kFunction + 22);
  CHECK(end->registers[kRbp] == kStack - 8);
  CHECK(end->registers.sp() == kStack - 16 - 0x28);
  CHECK(end->registers[kRax] == 7);
  CHECK(stored_at(*end) == std::vector<Address>{kStack - 8, kStack - 16, kStack - 0x30, kStack - 0x34});
  CHECK(end->stores[0].value == 0xbb);
  CHECK(end->stores[1].value == 0x99);
  CHECK(end->stores[2].value == 0x1122334455667788);
  CHECK(end->stores[2].size == 8);
  CHECK(end->stores[3].size == 1);
}

TEST_CASE("a prologue ends before what does more than to store arguments") {
  // push rbp; mov rbp,rsp
  const std::vector<std::uint8_t> frame{0x55, 0x48, 0x89, 0xe5};
  const auto end_with = [&](const std::vector<std::uint8_t>& more, Address end = ~Address{0}) {
    std::vector<std::uint8_t> code = frame;
    code.insert(code.end(), more.begin(), more.end());
    code.push_back(0xc3);
    const auto found = prologue_of(code, end);
    return found ? found->registers.pc() - kFunction : 0;
  };
  CHECK(end_with({}) == 4);
  CHECK(end_with({0x48, 0x89, 0x7d, 0xf8}) == 8);                       // mov [rbp-8],rdi
  CHECK(end_with({0x48, 0x89, 0x7d, 0xf8}, kFunction + 6) == 4);        // asked to end inside of it
  CHECK(end_with({0x48, 0x89, 0x7d, 0x10}) == 4);                       // mov [rbp+0x10],rdi: the caller's
  CHECK(end_with({0x48, 0x89, 0x3e}) == 4);                             // mov [rsi],rdi
  CHECK(end_with({0x84, 0xc0}) == 4);                                   // test al,al
  CHECK(end_with({0xf3, 0x0f, 0x11, 0x45, 0xfc}) == 4);                 // movss [rbp-4],xmm0
  CHECK(end_with({0x88, 0x65, 0xfc}) == 4);                             // mov [rbp-4],ah
  CHECK(end_with({0x48, 0x89, 0xfd}) == 4);                             // mov rbp,rdi
  CHECK(end_with({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}) == 4);  // mov rax,fs:0x28
}

TEST_CASE("a function that builds no frame has no prologue to be run") {
  CHECK_FALSE(prologue_of({0x53, 0x48, 0x89, 0xfb, 0xc3}));        // push rbx; mov rbx,rdi
  CHECK_FALSE(prologue_of({0x48, 0x89, 0x7c, 0x24, 0xf8, 0xc3}));  // mov [rsp-8],rdi
  CHECK_FALSE(prologue_of({0x55, 0xc3}));
}

}  // namespace refhist
