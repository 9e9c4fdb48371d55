#include "agent_tables/rule_encoder.h"

#include <dwarf.h>

#include <array>
#include <optional>

#include "port/registers.h"

namespace refhist {

namespace {

using agent::FrameRule;
using agent::RuleKind;

constexpr std::int64_t kWord = 8;
constexpr unsigned kBaseRegister = DW_OP_breg0;

/// In words, when they fit in so many bits with a sign.
std::optional<std::uint32_t> words(std::int64_t bytes, unsigned bits) {
  const std::int64_t count = bytes / kWord;
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  if (bytes % kWord != 0 || count < -half || count >= half) return std::nullopt;
  return static_cast<std::uint32_t>(count) & ((std::uint32_t{1} << bits) - 1);
}

std::uint32_t bits_of(RuleKind kind) { return static_cast<std::uint32_t>(kind); }

/// A register plus an offset.
std::optional<std::int64_t> register_plus(ByteReader& in, unsigned number) {
  if (in.number<std::uint8_t>() != kBaseRegister + number) return std::nullopt;
  return in.sleb();
}

bool is_register_plus(std::string_view expression, unsigned number, std::int64_t offset) {
  ByteReader in(expression);
  const auto found = register_plus(in, number);
  return found == offset && in.done() && !in.failed();
}

bool is_saved_at(const SavedRegister& saved, unsigned number, std::int64_t offset) {
  return saved.kind == SavedRegister::Kind::at_expression &&
         is_register_plus(saved.expression, number, offset);
}

/// rsp + 8 + (((rip & 15) >= threshold) << 3): in the last part of a PLT entry one more word is pushed.
std::optional<std::uint32_t> plt_rule(std::string_view expression) {
  ByteReader in(expression);
  if (register_plus(in, kRsp) != kWord || register_plus(in, kRip) != 0) return std::nullopt;
  if (in.number<std::uint8_t>() != DW_OP_lit15 || in.number<std::uint8_t>() != DW_OP_and) return std::nullopt;
  const auto threshold = static_cast<unsigned>(in.number<std::uint8_t>() - DW_OP_lit0);
  if (threshold > 15) return std::nullopt;
  for (const unsigned operation : {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus}) {
    if (in.number<std::uint8_t>() != operation) return std::nullopt;
  }
  if (in.failed() || !in.done()) return std::nullopt;
  return bits_of(RuleKind::plt) | threshold << 12;
}

/// *(rsp or rbp + offset) + offset
std::optional<std::uint32_t> deref_rule(std::string_view expression) {
  ByteReader in(expression);
  const unsigned operation = in.number<std::uint8_t>();
  const bool from_rsp = operation == kBaseRegister + kRsp;
  if (!from_rsp && operation != kBaseRegister + kRbp) return std::nullopt;
  const auto at = words(in.sleb(), 10);
  if (in.number<std::uint8_t>() != DW_OP_deref) return std::nullopt;
  std::int64_t offset = 0;
  if (!in.done()) {
    if (in.number<std::uint8_t>() != DW_OP_plus_uconst) return std::nullopt;
    offset = static_cast<std::int64_t>(in.uleb());
  }
  const auto plus = words(offset, 10);
  if (!at || !plus || in.failed() || !in.done()) return std::nullopt;
  return bits_of(from_rsp ? RuleKind::deref_rsp : RuleKind::deref_rbp) | *at << 12 | *plus << 22;
}

std::optional<std::uint32_t> cfa_rule(const FrameState& state) {
  if (state.cfa_by_expression) {
    const auto plt = plt_rule(state.cfa_expression);
    return plt ? plt : deref_rule(state.cfa_expression);
  }
  if (state.cfa_register == kRsp || state.cfa_register == kRbp) {
    const auto offset = words(state.cfa_offset, 20);
    if (!offset) return std::nullopt;
    return bits_of(state.cfa_register == kRsp ? RuleKind::rsp : RuleKind::rbp) | *offset << 12;
  }
  const auto offset = words(state.cfa_offset, 16);
  if (!offset || state.cfa_register > kR15) return std::nullopt;
  return bits_of(RuleKind::other) | static_cast<std::uint32_t>(state.cfa_register) << 12 | *offset << 16;
}

/// The same as a rule of kind rsp, and where rbx is.
std::optional<std::uint32_t> rsp_rbx_rule(const FrameState& state) {
  if (state.cfa_by_expression || state.cfa_register != kRsp) return std::nullopt;
  const auto offset = words(state.cfa_offset, 12);
  const bool kept = state.rbx.kind == SavedRegister::Kind::same;
  const bool saved = state.rbx.kind == SavedRegister::Kind::at_offset && state.rbx.offset % kWord == 0 &&
                     state.rbx.offset < 0 && state.rbx.offset >= -255 * kWord;
  if (!offset || (!kept && !saved)) return std::nullopt;
  const auto save = kept ? 0 : static_cast<std::uint32_t>(-state.rbx.offset / kWord);
  return bits_of(RuleKind::rsp_rbx) | save << 12 | *offset << 20;
}

std::optional<std::uint32_t> rbp_save(const SavedRegister& rbp) {
  using Kind = SavedRegister::Kind;
  if (rbp.kind == Kind::same || rbp.kind == Kind::undefined) return FrameRule::kRbpKept;
  if (is_saved_at(rbp, kRbp, 0)) return FrameRule::kRbpAtRbp;
  if (rbp.kind != Kind::at_offset || rbp.offset >= 0 || rbp.offset % kWord != 0) return std::nullopt;
  const std::int64_t count = -rbp.offset / kWord;
  if (count > FrameRule::kHighestSave) return std::nullopt;
  return static_cast<std::uint32_t>(count);
}

bool is_ucontext_at_rsp(const FrameState& state) {
  if (!state.cfa_by_expression) return false;
  const auto cfa = deref_rule(state.cfa_expression);
  const FrameRule rule{cfa.value_or(0)};
  return rule.kind() == RuleKind::deref_rsp && rule.deref_at() == 160 && rule.deref_offset() == 0 &&
         is_saved_at(state.rsp, kRsp, 160) && is_saved_at(state.rip, kRsp, 168) &&
         is_saved_at(state.rbp, kRsp, 120);
}

}  // namespace

EncodedRule encode_rule(const FrameState& state, bool signal_frame, bool with_rbx) {
  using Kind = SavedRegister::Kind;
  if (state.rip.kind == Kind::undefined) return {.rule = {bits_of(RuleKind::outermost)}};
  if (signal_frame) {
    if (is_ucontext_at_rsp(state)) return {.rule = {bits_of(RuleKind::signal)}};
    return {.why_not = "signal frame of another form"};
  }
  if (state.rip.kind != Kind::at_offset || state.rip.offset != -kWord) {
    return {.why_not = "return address not below the CFA"};
  }
  const bool rsp_is_cfa =
      state.rsp.kind == Kind::same || (state.rsp.kind == Kind::cfa_plus && state.rsp.offset == 0);
  if (!rsp_is_cfa) return {.why_not = "stack pointer of the caller is not the CFA"};
  const auto save = rbp_save(state.rbp);
  if (!save) return {.why_not = "rbp kept elsewhere"};
  auto cfa = with_rbx ? rsp_rbx_rule(state) : std::nullopt;
  if (!cfa) cfa = cfa_rule(state);
  if (!cfa) {
    return {.why_not =
                state.cfa_by_expression ? "CFA by another expression" : "CFA too far from its register"};
  }
  return {.rule = {*cfa | *save << 4}};
}

}  // namespace refhist
