#include "sites/counter_finder.h"

#include <algorithm>
#include <optional>
#include <set>

namespace refhist {

namespace {

constexpr std::uint8_t kNone = CounterInstruction::kNoRegister;

bool contains(const std::vector<FileRange>& ranges, Address at) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const FileRange& range) { return range.begin <= at && at < range.end; });
}

bool is_register(const ZydisDecodedOperand& operand) { return operand.type == ZYDIS_OPERAND_TYPE_REGISTER; }

/// A place in the function's frame.
std::optional<std::pair<std::uint8_t, std::int64_t>> slot(const ZydisDecodedOperand& operand) {
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.index != ZYDIS_REGISTER_NONE)
    return std::nullopt;
  const std::uint8_t base = CounterInstruction::register_number(operand.mem.base);
  if (base != kRbp && base != kRsp) return std::nullopt;
  return std::pair(base, operand.mem.disp.value);
}

}  // namespace

std::vector<CounterInstruction> CounterFinder::find(const InlinedCopy& copy) {
  std::set<Address> seen;
  for (const FileRange& range : copy.ranges) {
    FileRange function = range;
    if (const auto symbol = module_.function_at(range.begin)) function.begin = symbol->address;
    for (const FileRange& other : copy.ranges) {
      const auto symbol = module_.function_at(other.begin);
      if (symbol && symbol->address == function.begin) function.end = std::max(function.end, other.end);
    }
    if (seen.insert(function.begin).second) walk(function, copy);
  }
  return found_;
}

void CounterFinder::walk(const FileRange& function, const InlinedCopy& copy) {
  std::vector<std::uint8_t> bytes(function.end - function.begin);
  if (!module_.read_code(function.begin, bytes.data(), bytes.size())) return;
  distances_ = {};
  slots_.clear();
  const InstructionDecoder decoder;
  const CodeRange code{function.begin, bytes};
  DecodedInstruction instruction;
  for (Address at = function.begin; decoder.decode(code, at, instruction); at = instruction.next()) {
    if (contains(copy.ranges, at)) consider(instruction);
    follow(instruction);
  }
}

std::optional<std::int64_t> CounterFinder::distance_of(const ZydisDecodedOperand& operand) const {
  if (is_register(operand)) {
    const std::uint8_t number = CounterInstruction::register_number(operand.reg.value);
    return number == kNone ? std::nullopt : distances_[number];
  }
  const auto place = slot(operand);
  const auto found = place ? slots_.find(*place) : slots_.end();
  return found == slots_.end() ? std::nullopt : std::optional(found->second);
}

void CounterFinder::set(const ZydisDecodedOperand& operand, std::optional<std::int64_t> distance) {
  if (is_register(operand)) {
    const std::uint8_t number = CounterInstruction::register_number(operand.reg.value);
    if (number != kNone) distances_[number] = distance;
  } else if (const auto place = slot(operand)) {
    slots_.erase(*place);
    if (distance) slots_.emplace(*place, *distance);
  }
}

void CounterFinder::follow(const DecodedInstruction& instruction) {
  const auto& operands = instruction.operands;
  const ZydisMnemonic mnemonic = instruction.raw.mnemonic;
  const bool wide = instruction.raw.operand_width == 64;
  if (wide && mnemonic == ZYDIS_MNEMONIC_LEA && operands[1].mem.index == ZYDIS_REGISTER_NONE &&
      !instruction.rip_target()) {
    const std::uint8_t base = CounterInstruction::register_number(operands[1].mem.base);
    const std::int64_t before = base == kNone ? 0 : distances_[base].value_or(0);
    return set(operands[0], before + operands[1].mem.disp.value);
  }
  if (wide && mnemonic == ZYDIS_MNEMONIC_MOV) return set(operands[0], distance_of(operands[1]));
  if (wide && mnemonic == ZYDIS_MNEMONIC_ADD && operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    return set(operands[0], distance_of(operands[0]).value_or(0) + operands[1].imm.value.s);
  if (instruction.is_call()) {
    for (const unsigned reg : {kRax, kRcx, kRdx, kRsi, kRdi, kR8, kR9, kR10, kR11}) distances_[reg].reset();
    return;
  }
  for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
    if ((operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0) set(operands[i], std::nullopt);
  }
}

void CounterFinder::consider(const DecodedInstruction& instruction) {
  const auto change = CounterInstruction::of(instruction);
  if (!change || change->size != counter_.size || !is_counter(*change)) return;
  const bool stores = change->kind == CounterInstruction::Kind::store;
  if (role_ != Role::init || stores) found_.push_back(*change);
}

bool CounterFinder::is_counter(const CounterInstruction& change) const {
  if (change.base == kNone) return is_variable(static_cast<Address>(change.displacement));
  const auto offset = static_cast<std::int64_t>(counter_.offset);
  return change.displacement == offset || change.displacement + distances_[change.base].value_or(0) == offset;
}

/// The symbol of a variable that is such an object covers its counter and what lies before that.
bool CounterFinder::is_variable(Address counter) const {
  const auto symbol = module_.data_symbol_at(counter);
  return counter_.offset != 0 && symbol && counter - symbol->address >= counter_.offset;
}

}  // namespace refhist
