#include <Zydis/Zydis.h>
#include <cstring>
#include "patching/branch_targets.h"
#include "patching/relocator.h"
namespace refhist {
PatchResult plan_patch(const PatchRequest& r, const BranchTargets&) {
  ZydisDecoder d; ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  unsigned at = 0; Patch p; p.function = p.at = r.function.address;
  while (at < 5) {
    ZydisDecodedInstruction i; ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    if (at >= r.function.bytes.size() || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, r.function.bytes.data() + at, r.function.bytes.size() - at, &i, o))) return {{}, "too short"};
    if (i.attributes & ZYDIS_ATTRIB_IS_RELATIVE) return {{}, "relative instruction (placeholder)"};
    if (i.mnemonic == ZYDIS_MNEMONIC_RET) return {{}, "ret"};
    at += i.length;
  }
  p.length = at; p.original.assign(r.function.bytes.begin(), r.function.bytes.begin() + at);
  return {p, {}};
}
std::optional<Relocated> relocate(const Patch& p, Address stub, std::string*) {
  Relocated r; r.bytes = p.original; r.boundaries = {{0, 0}};
  const auto j = jump_bytes(stub + p.length, p.at + p.length);
  r.bytes.insert(r.bytes.end(), j.begin(), j.end());
  return r;
}
std::array<std::uint8_t, 5> jump_bytes(Address from, Address to) {
  std::array<std::uint8_t, 5> b{0xe9}; const auto d = static_cast<std::uint32_t>(to - from - 5); std::memcpy(b.data() + 1, &d, 4); return b;
}
}
