// Planning and moving, one instruction form at a time. Code is given as bytes; what comes out is decoded
// again.
#include <doctest/doctest.h>

#include <cstring>
#include <initializer_list>

#include "patching/patch.h"
#include "patching/relocator.h"
#include "patching_check.h"
#include "port/registers.h"
#include "x86/decoded_instruction.h"

using namespace refhist;
using namespace refhist_test;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr Address kEntry = 0x401000;
constexpr Address kStub = 0x501000;

/// One function at kEntry, `after` behind it, and data at 0x402000.
struct Subject {
  Bytes code;
  std::size_t size;
  Bytes data;
  std::vector<Address> keep;
  std::vector<Address> stops = {};

  explicit Subject(Bytes function, Bytes after = Bytes(16, 0x90))
      : code(function), size(function.size()), data(16) {
    code.insert(code.end(), after.begin(), after.end());
  }
  PatchResult plan() const {
    const CodeRange all{kEntry, code};
    const BranchTargets targets({all}, {{0x402000, data}}, {kEntry}, 0);
    PatchRequest request{{kEntry, std::span(code).first(size)}, std::span(code).subspan(size), keep, stops};
    return plan_patch(request, targets);
  }
};

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

const Bytes kRet{0xc3};
const Bytes kNops5{0x0f, 0x1f, 0x44, 0x00, 0x00};
const Bytes kEndbr{0xf3, 0x0f, 0x1e, 0xfa};

/// Plans, moves and compares what was moved with the original; the patch.
Patch moved(const Subject& subject) {
  const PatchResult result = subject.plan();
  REQUIRE_MESSAGE(result.patch, result.why_not);
  for (const Address stub : {kStub, kEntry - 0x70000000, kEntry + 0x7ffff000}) {
    CHECK(difference_when_moved(*result.patch, stub) == "");
  }
  return *result.patch;
}

std::string refused(const Subject& subject) {
  const PatchResult result = subject.plan();
  CHECK(!result.patch);
  return result.why_not;
}

Bytes relocated(const Patch& patch) {
  std::string why_not;
  const auto out = relocate(patch, kStub, &why_not);
  REQUIRE_MESSAGE(out, why_not);
  return out->bytes;
}

}  // namespace

TEST_CASE("patching: the jump") {
  CHECK(jump_bytes(0x1000, 0x1005) == std::array<std::uint8_t, 5>{0xe9, 0, 0, 0, 0});
  CHECK(jump_bytes(0x1000, 0x0ffb) == std::array<std::uint8_t, 5>{0xe9, 0xf6, 0xff, 0xff, 0xff});
}

TEST_CASE("patching: plain instructions are copied, and control goes on behind them") {
  // push rbx; mov rbx,rdi; sub rsp,16
  const Patch patch = moved(Subject(Bytes{0x53, 0x48, 0x89, 0xfb, 0x48, 0x83, 0xec, 0x10} + kRet));
  CHECK(patch.at == kEntry);
  CHECK(patch.length == 8);
  CHECK(patch.sp_delta == 0);
  CHECK(!patch.red_zone_live);
  CHECK(patch.falls_through);
  CHECK(relocated(patch).size() == 8 + 5);
}

TEST_CASE("patching: endbr64 stays in place") {
  const Patch patch = moved(Subject(kEndbr + kNops5 + kRet));
  CHECK(patch.at == kEntry + 4);
  CHECK(patch.sp_delta == 0);
  CHECK(!patch.red_zone_live);
  // endbr64; ret without room behind
  CHECK(refused(Subject(kEndbr + kRet, {0x55})).find("too short") == 0);
}

TEST_CASE("patching: rip-relative operands") {
  SUBCASE("load") { moved(Subject(Bytes{0x8b, 0x05, 0x10, 0, 0, 0} + kRet)); }
  SUBCASE("with an immediate behind the displacement") {
    moved(Subject(Bytes{0x80, 0x3d, 0x10, 0, 0, 0, 0x07} + kRet));  // cmpb $7,0x10(%rip)
    moved(Subject(
        Bytes{0x48, 0xc7, 0x05, 0x10, 0, 0, 0, 0x78, 0x56, 0x34, 0x12}));  // movq $0x12345678,0x10(%rip)
  }
  SUBCASE("lock, vector and EVEX forms") {
    moved(Subject(Bytes{0xf0, 0xff, 0x0d, 0x10, 0, 0, 0} + kRet));                    // lock decl
    moved(Subject(Bytes{0xc5, 0xf8, 0x28, 0x05, 0x10, 0, 0, 0} + kRet));              // vmovaps
    moved(Subject(Bytes{0x62, 0xf1, 0x7c, 0x48, 0x28, 0x05, 0x10, 0, 0, 0} + kRet));  // vmovaps zmm
    moved(Subject(Bytes{0x66, 0x48, 0x8d, 0x3d, 0x10, 0, 0, 0} + kRet));              // data16 lea
    moved(Subject(Bytes{0xff, 0x35, 0x10, 0, 0, 0} + kRet));                          // push
    moved(Subject(Bytes{0xff, 0x25, 0x10, 0, 0, 0}, {}));                             // jmp *
    moved(Subject(Bytes{0xff, 0x15, 0x10, 0, 0, 0} + kRet));                          // call *
  }
  SUBCASE("out of reach") {
    const auto result = Subject(Bytes{0x8b, 0x05, 0x10, 0, 0, 0} + kRet).plan();
    REQUIRE(result.patch);
    std::string why_not;
    CHECK(!relocate(*result.patch, kEntry + 0x100000000, &why_not));
    CHECK(why_not.find("more than 2 GiB") != std::string::npos);
  }
  SUBCASE("to itself, or with 32-bit addresses") {
    CHECK(refused(Subject(Bytes{0x8b, 0x05, 0xfc, 0xff, 0xff, 0xff} + kRet)).find("refers to the patched") !=
          std::string::npos);
    CHECK(refused(Subject(Bytes{0x67, 0x8b, 0x05, 0x10, 0, 0, 0} + kRet)).find("32-bit") !=
          std::string::npos);
  }
}

TEST_CASE("patching: branches that leave the covered bytes") {
  const Bytes test{0x85, 0xff};  // test edi,edi
  SUBCASE("every short condition") {
    for (std::uint8_t condition = 0; condition < 16; ++condition) {
      const Patch patch = moved(Subject(
          test + Bytes{static_cast<std::uint8_t>(0x70 | condition), 0x04, 0x31, 0xc0} + kNops5 + kRet));
      CHECK(patch.length == 6);
    }
  }
  SUBCASE("long condition, backwards too") {
    moved(Subject(test + Bytes{0x0f, 0x84, 0x40, 0, 0, 0} + kRet));
    moved(Subject(test + Bytes{0x0f, 0x8c, 0x00, 0xff, 0xff, 0xff} + kRet));
  }
  SUBCASE("hints and bnd prefixes") {
    moved(Subject(test + Bytes{0x3e, 0x74, 0x20} + kRet));
    moved(Subject(Bytes{0xf2, 0xe9, 0x40, 0, 0, 0}));
  }
  SUBCASE("jmp ends the function") {
    const Patch patch = moved(Subject({0xe9, 0x00, 0x10, 0, 0}, {}));
    CHECK(!patch.falls_through);
    CHECK(relocated(patch).size() == 5);
    CHECK(!moved(Subject({0xeb, 0x40})).falls_through);
    CHECK(!moved(Subject({0xff, 0xe0})).falls_through);  // jmp *rax
  }
  SUBCASE("xbegin") { moved(Subject(Bytes{0xc7, 0xf8, 0x20, 0, 0, 0} + kRet)); }
  SUBCASE("an operand-size prefix makes another branch of it") {
    CHECK(refused(Subject(Bytes{0x66, 0xe9, 0x40, 0, 0, 0} + kNops5)).find("cannot be moved") !=
          std::string::npos);
  }
}

TEST_CASE("patching: loop and jrcxz are expanded") {
  for (const std::uint8_t opcode : {0xe0, 0xe1, 0xe2, 0xe3}) {
    const Patch patch = moved(Subject(Bytes{opcode, 0x20} + kNops5 + kRet));
    CHECK(relocated(patch).size() == 2 + 2 + 5 + 5 + 5);
    moved(Subject(Bytes{0x67, opcode, 0x20} + kNops5 + kRet));
  }
  // What a thread between the two halves must be taken for: behind the branch, or at its target.
  const auto result = Subject(Bytes{0xe2, 0xf0} + kNops5 + kRet).plan();
  REQUIRE(result.patch);
  std::string why_not;
  const auto out = relocate(*result.patch, kStub, &why_not);
  REQUIRE(out);
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  REQUIRE(out->boundaries.size() == 5);
  CHECK(out->boundaries[0] == Pair(0, 0));
  CHECK(out->boundaries[1] == Pair(2, 2));
  CHECK(out->boundaries[2] == Pair(4, static_cast<std::uint32_t>(2 - 16)));
  CHECK(out->boundaries[3] == Pair(9, 2));
  CHECK(out->boundaries[4] == Pair(14, 7));
}

TEST_CASE("patching: branches among the covered instructions stay in the stub") {
  moved(Subject(Bytes{0x74, 0x01, 0x90} + Bytes{0x31, 0xc0} + kRet));  // je over a nop
  moved(Subject(Bytes{0xe3, 0x01, 0x90} + Bytes{0x31, 0xc0} + kRet));  // jrcxz over a nop
  SUBCASE("back to the entry: through the patched place again") {
    moved(Subject(Bytes{0xff, 0xcf, 0x75, 0xfc} + Bytes{0x31, 0xc0} + kRet));
  }
  SUBCASE("back to a place that is not the entry") {
    CHECK(refused(Subject(kEndbr + Bytes{0xff, 0xcf, 0x75, 0xfc} + Bytes{0x31, 0xc0} + kRet))
              .find("goes back") != std::string::npos);
  }
  SUBCASE("into the middle of an instruction") {
    const auto result = Subject(Bytes{0xeb, 0x01, 0x48, 0x31, 0xc0} + kRet).plan();
    CHECK(!result.patch);  // what follows a jmp is another block
    const auto half = Subject(Bytes{0x74, 0x01, 0x48, 0x31, 0xc0} + kRet).plan();
    REQUIRE(half.patch);
    std::string why_not;
    CHECK(!relocate(*half.patch, kStub, &why_not));
    CHECK(why_not.find("into the middle of an instruction") != std::string::npos);
  }
}

TEST_CASE("patching: calls") {
  moved(Subject(Bytes{0x48, 0x83, 0xec, 0x08, 0xe8, 0x00, 0x10, 0, 0} + kRet));
  moved(Subject(Bytes{0x66, 0x66, 0x48, 0xe8, 0x00, 0x10, 0, 0} + kRet));  // as before __tls_get_addr
  CHECK(refused(Subject(Bytes{0xe8, 0, 0, 0, 0, 0x58} + kRet)).find("return address") != std::string::npos);
  CHECK(refused(Subject(Bytes{0xe8, 2, 0, 0, 0, 0x90, 0x90, 0x58} + kRet)).find("return address") !=
        std::string::npos);
  // A thread may be inside the first of two: its return address would be overwritten.
  CHECK(refused(Subject(Bytes{0xff, 0xd0, 0xff, 0xd0, 0x90} + kRet)).find("returns into them") !=
        std::string::npos);
}

TEST_CASE("patching: what cannot be moved or is unknown") {
  CHECK(refused(Subject(Bytes{0xcc} + kNops5 + kRet)) != "");
  CHECK(refused(Subject(Bytes{0xcd, 0x80} + kNops5 + kRet)) != "");
  CHECK(refused(Subject(Bytes{0xcb}, Bytes(16, 0xcc))).find("cannot be moved") !=
        std::string::npos);  // far ret
  CHECK(refused(Subject(Bytes{0xff, 0x2d, 0x10, 0, 0, 0})).find("cannot be moved") != std::string::npos);
  CHECK(refused(Subject(Bytes{0x06} + kNops5)).find("unknown instruction") == 0);
  CHECK(refused(Subject(Bytes{})).find("no code") == 0);
}

TEST_CASE("patching: short functions extend into padding only") {
  SUBCASE("nops, int3, long nops") {
    for (const Bytes& padding :
         {Bytes(15, 0x90), Bytes(15, 0xcc), Bytes{0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0},
          Bytes{0x66, 0x90, 0x66, 0x90}}) {
      const Patch patch = moved(Subject(kRet, padding));
      CHECK(patch.length >= 5);
      CHECK(!patch.falls_through);
      CHECK(relocated(patch) == kRet);
    }
  }
  SUBCASE("rep ret") { CHECK(relocated(moved(Subject(Bytes{0xf3, 0xc3}))) == Bytes{0xf3, 0xc3}); }
  SUBCASE("ret imm") { moved(Subject(Bytes{0xc2, 0x08, 0x00})); }
  SUBCASE("neighbours without padding, and the end of the section") {
    for (std::size_t size = 1; size < 5; ++size) {
      const Bytes function = Bytes(size - 1, 0x90) + kRet;
      CHECK(refused(Subject(function, Bytes{0x31, 0xc0, 0xc3, 0x90, 0x90})).find("too short") == 0);
      CHECK(refused(Subject(function, {})).find("too short") == 0);
    }
  }
  SUBCASE("behind the next alignment a nop may begin a function without a symbol") {
    for (const std::size_t pushes : {11, 12, 13}) {
      Subject subject(Bytes(pushes, 0x53) + Bytes{0x31, 0xc0} + kRet);
      for (std::size_t i = 0; i < pushes; ++i) subject.keep.push_back(kEntry + i);
      CHECK(subject.plan().patch.has_value() == (pushes == 11));
    }
  }
  SUBCASE("a function that runs into the next one") {
    CHECK(refused(Subject(Bytes{0x31, 0xc0}, Bytes(16, 0x90))).find("too short") == 0);
  }
  SUBCASE("another block behind a ret") {
    CHECK(refused(Subject(Bytes{0x31, 0xc0, 0xc3, 0x31, 0xd2, 0xc3})).find("no padding") !=
          std::string::npos);
  }
}

TEST_CASE("patching: the jump stands behind a frame and the arguments that are stored in it") {
  // push rbp; mov rbp,rsp; mov [rbp-8],rdi; mov [rbp-12],esi
  const Bytes frame{0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x7d, 0xf8, 0x89, 0x75, 0xf4};
  Subject stores(frame + kNops5 + kRet);
  const Patch patch = moved(stores);
  CHECK(patch.at == kEntry + frame.size());
  CHECK(patch.sp_delta == 0);
  CHECK(patch.start.framed);
  CHECK(patch.start.code == frame);
  CHECK(with_start(patch).at == kEntry);
  SUBCASE("where a breakpoint of the user may stand on its first byte") {
    stores.keep = {kEntry + frame.size()};
    CHECK(moved(stores).at == kEntry + frame.size());
  }
  SUBCASE("right behind the frame when what follows cannot be moved") {
    stores.keep = {kEntry + frame.size() + 1};
    CHECK(moved(stores).at == kEntry + 4);
  }
  SUBCASE("a store elsewhere is the function's own work") {
    Subject elsewhere(Bytes{0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0x7d, 0x10} + kNops5 + kRet);  // [rbp+16]
    CHECK(moved(elsewhere).at == kEntry + 4);
  }
  SUBCASE("so is a constant") {
    Subject constant(Bytes{0x55, 0x48, 0x89, 0xe5, 0xc7, 0x45, 0xfc, 0, 0, 0, 0} + kNops5 + kRet);
    CHECK(moved(constant).at == kEntry + 4);
  }
}

TEST_CASE("patching: no stop of a step into the function lies inside the jump") {
  // push rbx; mov rbx,rdi; mov edi,16
  Subject subject(Bytes{0x53, 0x48, 0x89, 0xfb, 0xbf, 0x10, 0, 0, 0} + kNops5 + kRet);
  CHECK(moved(subject).at == kEntry);
  SUBCASE("it stands there, and what runs before is taken back") {
    subject.stops = {kEntry + 4};
    const Patch patch = moved(subject);
    CHECK(patch.at == kEntry + 4);
    CHECK(patch.sp_delta == 0);
    CHECK(patch.beginning() == kEntry);
    REQUIRE(patch.start.pushed.size() == 1);
    CHECK(patch.start.pushed[0].number == kRbx);
    CHECK(patch.begun(kEntry + 1));
    CHECK(!patch.begun(kEntry));
  }
  SUBCASE("or ends there") {
    subject.stops = {kEntry + 9};
    CHECK(moved(subject).at == kEntry);
  }
  SUBCASE("or the site is left to a breakpoint") {
    Subject changes(Bytes{0x89, 0xf7, 0x90, 0x89, 0xf8} + kNops5 + kRet);  // mov edi,esi; nop; mov eax,edi
    changes.stops = {kEntry + 2};
    CHECK(refused(changes).find("stepping into it would stop in the bytes of the jump") == 0);
  }
}

TEST_CASE("patching: what ran before the jump is taken back from any place") {
  // push rbx; push r12; sub rsp,0x20; the caller's rbx is 7, r12 is 8
  const Bytes code{0x53, 0x41, 0x54, 0x48, 0x83, 0xec, 0x20};
  const auto start = read_function_start({kEntry, code}, kEntry, kEntry + code.size());
  REQUIRE(start);
  const auto read = [](Address address, Address& word) {
    word = address == 0x7ff8 ? 7 : 8;
    return address == 0x7ff8 || address == 0x7ff0;
  };
  const std::array<std::pair<unsigned, Address>, 4> places{
      {{0, 0x7fd0}, {4, 0x7ff0}, {6, 0x7ff8}, {7, 0x8000}}};
  for (const auto& [left, sp] : places) {
    Registers registers;
    registers[kRsp] = sp;
    registers[kRbx] = left == 7 ? 7 : 1;
    registers[kR12] = left >= 6 ? 8 : 1;
    REQUIRE(start->take_back(left, registers, read));
    CHECK(registers.sp() == 0x8000);
    CHECK(registers[kRbx] == 7);
    CHECK(registers[kR12] == 8);
  }
  Registers inside;
  CHECK(!start->take_back(5, inside, read));
}

TEST_CASE("patching: a kept byte moves the patch to a later place") {
  // push rbx; mov rbx,rdi; push r12; sub rsp,0x20; mov eax,edi; nop
  const Bytes body{0x53, 0x48, 0x89, 0xfb, 0x41, 0x54, 0x48, 0x83,
                   0xec, 0x20, 0x89, 0xf8, 0x90, 0x90, 0x90, 0xc3};
  Subject subject(body);
  SUBCASE("at the last byte of the jump") {
    subject.keep = {kEntry + 4};
    const Patch patch = moved(subject);
    CHECK(patch.at == kEntry + 6);
    CHECK(patch.sp_delta == 16);
    CHECK(patch.red_zone_live);
  }
  SUBCASE("at the entry") {
    subject.keep = {kEntry};
    const Patch patch = moved(subject);
    CHECK(patch.at == kEntry + 1);
    CHECK(patch.sp_delta == 8);
  }
  SUBCASE("several") {
    subject.keep = {kEntry, kEntry + 4, kEntry + 6};
    const Patch patch = moved(subject);
    CHECK(patch.at == kEntry + 10);
    CHECK(patch.sp_delta == 16 + 0x20);
  }
  SUBCASE("behind the jump is no matter") {
    subject.keep = {kEntry + 6};
    CHECK(moved(subject).at == kEntry);
  }
  SUBCASE("inside an instruction that the jump covers is: it would never be hit") {
    Subject long_last(Bytes{0x48, 0x81, 0xec, 0, 1, 0, 0} + kRet);
    long_last.keep = {kEntry + 6};
    CHECK(moved(long_last).at == kEntry + 7);
  }
  SUBCASE("not past an instruction that changes an argument") {
    Subject changes(Bytes{0x48, 0x89, 0xf7, 0x89, 0xf8} + kNops5 + kRet);  // mov rdi,rsi; mov eax,edi
    changes.keep = {kEntry};
    CHECK(refused(changes).find("cannot run before the probe") != std::string::npos);
  }
  SUBCASE("saving an argument for later is harmless") {
    // push rbx; push r12; mov rbx,rdi; mov r12d,esi
    Subject saves(Bytes{0x53, 0x41, 0x54, 0x48, 0x89, 0xfb, 0x41, 0x89, 0xf4} + kNops5 + kRet);
    saves.keep = {kEntry + 3};
    const Patch patch = moved(saves);
    CHECK(patch.at == kEntry + 6);
    REQUIRE(patch.pushed.size() == 2);
    CHECK(patch.pushed[0].number == kRbx);
    CHECK(patch.pushed[0].below_cfa == 16);
    CHECK(patch.pushed[1].number == kR12);
    CHECK(patch.pushed[1].below_cfa == 24);
  }
  SUBCASE("not past a change of what the caller gets back and was not pushed") {
    Subject lost(Bytes{0x48, 0x89, 0xfb} + kNops5 + kRet);  // mov rbx,rdi
    lost.keep = {kEntry};
    CHECK(refused(lost).find("cannot run before the probe") != std::string::npos);
  }
  SUBCASE("not where a loop comes back") {
    // push rbx; then a loop to entry+1
    Subject loop(Bytes{0x53, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xcf, 0x75, 0xf6, 0x5b, 0xc3});
    loop.keep = {kEntry};
    CHECK(refused(loop).find("a branch at") != std::string::npos);
  }
}

TEST_CASE("patching: what leads into the covered bytes") {
  const Bytes body{0x31, 0xc0, 0x01, 0xf8, 0x01, 0xf0};  // three instructions of two bytes
  SUBCASE("a short branch back") {
    CHECK(refused(Subject(body + Bytes{0x75, 0xfa, 0xc3})).find("a branch at 0x401006 goes to 0x401002") ==
          0);
  }
  SUBCASE("a long one") {
    CHECK(refused(Subject(body + Bytes{0x0f, 0x85, 0xf6, 0xff, 0xff, 0xff, 0xc3})).find("a branch at") == 0);
  }
  SUBCASE("what only looks like one") {
    // mov ecx,0xfa75...: the same bytes inside an instruction
    CHECK(Subject(body + Bytes{0xb9, 0x75, 0xf9, 0, 0, 0xc3}).plan().patch);
  }
  SUBCASE("a call from the neighbour") {
    CHECK(
        refused(Subject(body + kRet, Bytes{0x90, 0xe8, 0xf5, 0xff, 0xff, 0xff, 0xc3})).find("a branch at") ==
        0);
  }
  SUBCASE("code that takes an address") {
    CHECK(
        refused(Subject(body + Bytes{0x48, 0x8d, 0x05, 0xf5, 0xff, 0xff, 0xff, 0xc3})).find("the code at") ==
        0);
  }
  SUBCASE("a pointer in the data") {
    Subject subject(body + kRet);
    const Address inside = kEntry + 4;
    std::memcpy(subject.data.data() + 8, &inside, sizeof inside);
    CHECK(refused(subject).find("a pointer at 0x402008") == 0);
  }
  SUBCASE("a jump table") {
    // lea rdx,[table]; movslq rax,[rdx+rdi*4]; add rax,rdx; jmp *rax
    Subject subject(body + Bytes{0x48, 0x8d, 0x15, 0xf3, 0x0f, 0, 0, 0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0,
                                 0xff, 0xe0});
    const auto fill = [&](Address target) {
      const auto entry = static_cast<std::int32_t>(target - 0x402000);
      std::memcpy(subject.data.data(), &entry, sizeof entry);
    };
    fill(kEntry + 6);
    CHECK(subject.plan().patch);
    fill(kEntry + 2);
    CHECK(refused(subject).find("a jump table") == 0);
  }
  SUBCASE("a jump to a computed address") {
    // lea rdx,[the next instruction]; lea rax,[rdx+rdi*4]; jmp *rax
    const Bytes jump{0x48, 0x8d, 0x15, 0, 0, 0, 0, 0x48, 0x8d, 0x04, 0xba, 0xff, 0xe0};
    CHECK(refused(Subject(body + jump)).find("the indirect jump at") == 0);
    // The same behind a first instruction that takes all of the jump's place: nobody jumps into that.
    CHECK(Subject(Bytes{0xb8, 1, 0, 0, 0} + jump).plan().patch);
  }
  SUBCASE("a jump through a pointer that was loaded goes where pointers go") {
    CHECK(Subject(body + Bytes{0x48, 0x8b, 0x07, 0xff, 0xe0}).plan().patch);
    CHECK(Subject(body + Bytes{0xff, 0x67, 0x10}).plan().patch);
  }
}
