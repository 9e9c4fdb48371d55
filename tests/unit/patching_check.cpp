#include "patching_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "patching/relocator.h"
#include "x86/decoded_instruction.h"

using namespace refhist;

namespace refhist_test {
namespace {

class Comparison {
 public:
  Comparison(const Patch& patch, Address stub, const Relocated& moved)
      : patch_(patch),
        original_{patch.at, patch.original},
        moved_{stub, moved.bytes},
        boundaries_(moved.boundaries) {}

  std::string run() {
    DecodedInstruction before;
    for (Address at = original_.address; at < original_.end(); at = before.next()) {
      if (!decoder_.decode(original_, at, before)) return fmt::format("{:#x} is no instruction", at);
      std::string difference = compare(before);
      if (!difference.empty()) return fmt::format("{:#x}: {}", at, difference);
      if (!before.falls_through()) return patch_.falls_through ? "falls through" : "";
    }
    return compare_end();
  }

 private:
  /// Where the instruction stands now; 0 when it is not marked. Of several marks the last is the instruction
  /// itself, the others are jumps to it.
  Address place_of(Address original) const {
    for (auto mark = boundaries_.rbegin(); mark != boundaries_.rend(); ++mark) {
      if (patch_.function + mark->second == original) return moved_.address + mark->first;
    }
    return 0;
  }
  bool target_is(Address now, Address original) const {
    const bool inside = original > original_.address && original < original_.end();
    return now == (inside ? place_of(original) : original);
  }

  std::string compare(const DecodedInstruction& before) {
    DecodedInstruction after;
    const Address place = place_of(before.address);
    if (place == 0 || !decoder_.decode(moved_, place, after)) return "not moved";
    if (before.raw.mnemonic != after.raw.mnemonic) return "another instruction";
    if (const auto target = before.branch_target()) return compare_branch(before, *target, after);
    if (before.rip_target() != after.rip_target()) return "another operand";
    return compare_bytes(before, after);
  }

  std::string compare_branch(const DecodedInstruction& before, Address target,
                             const DecodedInstruction& after) {
    const bool counted =
        before.raw.meta.category == ZYDIS_CATEGORY_COND_BR && (before.raw.opcode & 0xfc) == 0xe0;
    if (!counted) return target_is(*after.branch_target(), target) ? "" : "another target";
    return compare_expanded(before, target, after);
  }

  std::string compare_expanded(const DecodedInstruction& before, Address target,
                               const DecodedInstruction& after) {
    DecodedInstruction over;
    DecodedInstruction taken;
    if (before.raw.address_width != after.raw.address_width) return "another counter";
    if (!decoder_.decode(moved_, after.next(), over) || !decoder_.decode(moved_, over.next(), taken))
      return "no jumps";
    if (*after.branch_target() != taken.address || !taken.is_jump()) return "not taken to the jump";
    if (!over.is_jump() || *over.branch_target() != taken.next()) return "not led over the jump";
    return target_is(*taken.branch_target(), target) ? "" : "another target";
  }

  std::string compare_bytes(const DecodedInstruction& before, const DecodedInstruction& after) const {
    if (before.raw.length != after.raw.length) return "another length";
    const auto left = original_.from(before.address).bytes;
    const auto right = moved_.from(after.address).bytes;
    const unsigned displacement = before.rip_target() ? before.raw.raw.disp.offset : before.raw.length;
    for (unsigned i = 0; i < before.raw.length; ++i) {
      const bool inside = i >= displacement && i < displacement + 4;
      if (!inside && left[i] != right[i]) return "other bytes";
    }
    return {};
  }

  std::string compare_end() {
    DecodedInstruction back;
    const Address place = place_of(original_.end());
    if (!patch_.falls_through || place == 0 || !decoder_.decode(moved_, place, back)) return "no way back";
    if (!back.is_jump() || back.branch_target() != original_.end()) return "comes back elsewhere";
    return back.next() == moved_.end() ? "" : "more than was covered";
  }

  const Patch& patch_;
  CodeRange original_;
  CodeRange moved_;
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& boundaries_;
  InstructionDecoder decoder_;
};

}  // namespace

std::string difference_when_moved(const Patch& patch, Address stub) {
  std::string why_not;
  const auto moved = relocate(patch, stub, &why_not);
  return moved ? Comparison(patch, stub, *moved).run() : why_not;
}

}  // namespace refhist_test
