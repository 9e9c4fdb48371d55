// libdw finds a frame description through the binary search table of .eh_frame_hdr and gives its rules as
// decoded location expressions. Here the simple forms become plain rules, and the rest raw DWARF bytes again.
#include "symbols/call_frames.h"

#include <dwarf.h>

#include <cstdlib>
#include <cstring>
#include <span>

namespace refhist {

namespace {

using Operations = std::span<const Dwarf_Op>;

template <class T>
void put(std::vector<std::uint8_t>& out, T value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

void put_uleb(std::vector<std::uint8_t>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put_sleb(std::vector<std::uint8_t>& out, std::int64_t value) {
  for (; value < -0x40 || value > 0x3f; value >>= 7) {
    out.push_back(static_cast<std::uint8_t>((value & 0x7f) | 0x80));
  }
  out.push_back(static_cast<std::uint8_t>(value & 0x7f));
}

void put_operands(std::vector<std::uint8_t>& out, const Dwarf_Op& op) {
  switch (op.atom) {
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_pick:
    case DW_OP_deref_size:
      return put(out, static_cast<std::uint8_t>(op.number));
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_skip:
    case DW_OP_bra:
      return put(out, static_cast<std::uint16_t>(op.number));
    case DW_OP_const4u:
    case DW_OP_const4s:
      return put(out, static_cast<std::uint32_t>(op.number));
    case DW_OP_const8u:
    case DW_OP_const8s:
      return put(out, static_cast<std::uint64_t>(op.number));
    case DW_OP_constu:
    case DW_OP_plus_uconst:
      return put_uleb(out, op.number);
    case DW_OP_consts:
      return put_sleb(out, static_cast<std::int64_t>(op.number));
    case DW_OP_bregx:
      put_uleb(out, op.number);
      return put_sleb(out, static_cast<std::int64_t>(op.number2));
    default:
      if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
        put_sleb(out, static_cast<std::int64_t>(op.number));
      }
  }
}

/// Numbers can come out shorter than the compiler wrote them, so branch distances are computed anew.
std::vector<std::uint8_t> encode(Operations operations) {
  std::vector<std::uint8_t> out;
  std::vector<std::size_t> begins;
  for (const Dwarf_Op& op : operations) {
    begins.push_back(out.size());
    out.push_back(op.atom);
    put_operands(out, op);
  }
  begins.push_back(out.size());
  const std::size_t base = operations.empty() ? 0 : operations.front().offset;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Dwarf_Op& op = operations[i];
    if (op.atom != DW_OP_skip && op.atom != DW_OP_bra) continue;
    const std::size_t old_target = op.offset - base + 3 + static_cast<std::int16_t>(op.number);
    std::size_t target = operations.size();
    for (std::size_t j = 0; j < operations.size(); ++j) {
      if (operations[j].offset - base == old_target) target = j;
    }
    const auto distance = static_cast<std::int16_t>(static_cast<std::int64_t>(begins[target]) -
                                                    static_cast<std::int64_t>(begins[i] + 3));
    std::memcpy(out.data() + begins[i] + 1, &distance, sizeof distance);
  }
  return out;
}

/// "register + offset" as libdw writes it; false for anything else.
bool as_register_offset(const Dwarf_Op& op, unsigned& number, std::int64_t& offset) {
  if (op.atom == DW_OP_bregx) {
    number = static_cast<unsigned>(op.number);
    offset = static_cast<std::int64_t>(op.number2);
  } else if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
    number = op.atom - DW_OP_breg0;
    offset = static_cast<std::int64_t>(op.number);
  } else {
    return false;
  }
  return number < kRegisterCount;
}

/// libdw begins every rule that starts from the CFA with this operation; in raw DWARF the CFA is just there.
Operations without_cfa(Operations operations) {
  if (!operations.empty() && operations.front().atom == DW_OP_call_frame_cfa)
    operations = operations.subspan(1);
  return operations;
}

RegisterRule convert(Operations operations) {
  RegisterRule rule;
  const Dwarf_Op& first = operations.front();
  if (operations.size() == 1 &&
      (first.atom == DW_OP_regx || (first.atom >= DW_OP_reg0 && first.atom <= DW_OP_reg31))) {
    const std::uint64_t number = first.atom == DW_OP_regx ? first.number : first.atom - DW_OP_reg0;
    rule.kind = number < kRegisterCount ? RegisterRule::Kind::in_register : RegisterRule::Kind::undefined;
    rule.source = static_cast<std::uint8_t>(number);
    return rule;
  }
  const bool from_cfa = first.atom == DW_OP_call_frame_cfa;
  const bool is_value = operations.back().atom == DW_OP_stack_value;
  if (is_value) operations = operations.first(operations.size() - 1);
  operations = without_cfa(operations);
  const bool plain =
      operations.empty() || (operations.size() == 1 && operations[0].atom == DW_OP_plus_uconst);
  if (from_cfa && plain) {
    rule.kind = is_value ? RegisterRule::Kind::cfa_plus : RegisterRule::Kind::at_cfa_offset;
    rule.offset = operations.empty() ? 0 : static_cast<std::int32_t>(operations[0].number);
    return rule;
  }
  rule.kind = is_value ? RegisterRule::Kind::is_expression : RegisterRule::Kind::at_expression;
  rule.expression = encode(operations);
  return rule;
}

bool convert_cfa(Dwarf_Frame* frame, UnwindRule& rule) {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) return false;
  unsigned number = 0;
  if (count == 1 && as_register_offset(ops[0], number, rule.cfa_offset)) {
    rule.cfa_register = static_cast<std::uint8_t>(number);
    return true;
  }
  rule.cfa_by_expression = true;
  rule.cfa_expression = encode({ops, count});
  return true;
}

bool convert_registers(Dwarf_Frame* frame, UnwindRule& rule) {
  for (unsigned i = 0; i < kRegisterCount; ++i) {
    Dwarf_Op memory[3];
    Dwarf_Op* ops = nullptr;
    std::size_t count = 0;
    if (dwarf_frame_register(frame, static_cast<int>(i), memory, &ops, &count) != 0) return false;
    if (count != 0) {
      rule.registers[i] = convert({ops, count});
    } else if (ops != nullptr) {
      rule.registers[i].kind = RegisterRule::Kind::undefined;
    }
  }
  return true;
}

}  // namespace

CallFrames::CallFrames(const ElfFile& main, Dwarf_CFI* debug_frame)
    : eh_frame_(dwarf_getcfi_elf(main.elf())), debug_frame_(debug_frame) {}

CallFrames::~CallFrames() {
  if (eh_frame_ != nullptr) dwarf_cfi_end(eh_frame_);
}

const UnwindRule* CallFrames::rule(Address address) {
  auto next = rows_.upper_bound(address);
  if (next != rows_.begin() && address < std::prev(next)->second.end)
    return std::prev(next)->second.rule.get();
  if (const UnwindRule* found = decode(eh_frame_, address)) return found;
  return decode(debug_frame_, address);
}

const UnwindRule* CallFrames::decode(Dwarf_CFI* cfi, Address address) {
  Dwarf_Frame* decoded = nullptr;
  if (cfi == nullptr || dwarf_cfi_addrframe(cfi, address, &decoded) != 0) return nullptr;
  const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> frame(decoded, &std::free);
  Dwarf_Addr end = 0;
  bool signal_frame = false;
  if (dwarf_frame_info(frame.get(), nullptr, &end, &signal_frame) != kRip) return nullptr;
  auto rule = std::make_unique<UnwindRule>();
  rule->signal_frame = signal_frame;
  if (!convert_cfa(frame.get(), *rule) || !convert_registers(frame.get(), *rule)) return nullptr;
  // Not from the begin that libdw tells: after DW_CFA_restore_state it is that of the remembered row.
  Row& row = rows_[address];
  row = Row{.end = end, .rule = std::move(rule)};
  return row.rule.get();
}

}  // namespace refhist
