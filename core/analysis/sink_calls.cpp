#include "analysis/sink_calls.h"

#include <algorithm>
#include <array>

#include "analysis/frame_module.h"
#include "base/system_path.h"
#include "port/registers.h"
#include "x86/clobbered_registers.h"
#include "x86/instruction.h"

namespace refhist {

namespace {

constexpr std::size_t kMostBehind = 16;        // instructions from the get to the sink
constexpr std::size_t kMostUntaken = 2;        // calls
constexpr std::uint64_t kLargest = 1U << 16U;  // bytes of a function that is read

/// A word of the function's own stack.
struct StackWord {
  unsigned base = 0;
  std::int64_t offset = 0;
  bool operator==(const StackWord&) const = default;
};

std::optional<StackWord> stack_word(const ZydisDecodedOperand& operand) {
  if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.index != ZYDIS_REGISTER_NONE)
    return std::nullopt;
  const auto base = dwarf_number(operand.mem.base);
  if (!base || (*base != kRsp && *base != kRbp)) return std::nullopt;
  return StackWord{*base, operand.mem.disp.has_displacement ? operand.mem.disp.value : 0};
}

bool moves_word(const DecodedInstruction& instruction) {
  return instruction.raw.mnemonic == ZYDIS_MNEMONIC_MOV && instruction.raw.operand_width == 64;
}

/// Where an object is while code is followed.
class Holders {
 public:
  void add(unsigned reg) { registers_.insert(reg); }
  void add(const StackWord& slot) { slots_.push_back(slot); }
  [[nodiscard]] bool has(unsigned reg) const { return registers_.contains(reg); }

  void follow(const DecodedInstruction& instruction) {
    const auto& operands = instruction.operands;
    const bool moved = moves_word(instruction) && holds(operands[1]);
    drop(ClobberedRegisters::written_by(instruction));
    for (unsigned i = 0; i < instruction.raw.operand_count; ++i) {
      const bool written = (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
      if (const auto slot = written ? stack_word(operands[i]) : std::nullopt) std::erase(slots_, *slot);
    }
    if (moved) take(operands[0]);
  }
  void call() { drop(ClobberedRegisters::kByConvention); }

 private:
  [[nodiscard]] bool holds(const ZydisDecodedOperand& operand) const {
    if (const auto slot = stack_word(operand))
      return std::find(slots_.begin(), slots_.end(), *slot) != slots_.end();
    const auto reg = is_register(operand) ? dwarf_number(operand.reg.value) : std::nullopt;
    return reg && registers_.contains(*reg);
  }
  void take(const ZydisDecodedOperand& operand) {
    if (const auto slot = stack_word(operand)) return add(*slot);
    if (const auto reg = is_register(operand) ? dwarf_number(operand.reg.value) : std::nullopt) add(*reg);
  }
  void drop(ClobberedRegisters::Set written) {
    std::erase_if(registers_, [&](unsigned reg) { return (written >> reg & 1U) != 0; });
  }

  std::set<unsigned> registers_;
  std::vector<StackWord> slots_;
};

/// Registers that the instruction moves from and to; nothing when it does something else.
std::optional<std::pair<unsigned, unsigned>> moved_registers(const DecodedInstruction& instruction) {
  const auto& operands = instruction.operands;
  if (!moves_word(instruction) || !is_register(operands[0]) || !is_register(operands[1])) return std::nullopt;
  const auto to = dwarf_number(operands[0].reg.value);
  const auto from = dwarf_number(operands[1].reg.value);
  return to && from ? std::optional(std::pair(*from, *to)) : std::nullopt;
}

/// What has come back from the call, and what it was given first: where it came from, and its copies.
Holders holders_behind(const std::vector<DecodedInstruction>& way) {
  Holders holders;
  holders.add(kRax);
  unsigned given = kRdi;
  for (auto before = way.rbegin() + 1; before < way.rend() && !before->is_call(); ++before) {
    const auto moved = moved_registers(*before);
    if (!moved) continue;
    if (moved->second == given) given = moved->first;
    if (moved->first == given && is_preserved(moved->second)) holders.add(moved->second);
    if (is_preserved(given)) holders.add(given);
  }
  return holders;
}

}  // namespace

SinkCalls::Taking SinkCalls::sites_of(FamilyId family, const std::vector<Role>& roles) const {
  Taking taking;
  for (const Site& site : sites_.all()) {
    const LoadedModule* loaded = modules_.get(site.module);
    const bool wanted = std::find(roles.begin(), roles.end(), site.role) != roles.end();
    if (site.family == family && wanted && loaded != nullptr)
      taking.insert({&loaded->module->code(), site.file_address});
  }
  return taking;
}

bool SinkCalls::enters(const Module& module, const DecodedInstruction& call, const Taking& functions) {
  const auto target = call.branch_target();
  if (!target) return false;
  const auto entered = graph_.entered_at(module, *target);
  return std::any_of(entered.begin(), entered.end(), [&](const CodeGraph::Function& function) {
    return functions.contains({function.module, function.symbol.address});
  });
}

std::optional<SinkCalls::Sink> SinkCalls::sink_behind(const Module& module, Address return_address,
                                                      const Taking& gets, const Taking& counted) {
  const StraightWay way = straight_way_through_call(module, return_address);
  if (way.instructions.empty()) return std::nullopt;
  // A birth is handed on in many ways.
  if (!enters(module, way.instructions.back(), gets)) return std::nullopt;
  Holders holders = holders_behind(way.instructions);
  DecodedInstruction instruction;
  Address at = return_address;
  for (std::size_t i = 0; i < kMostBehind && read_instruction(module, at, instruction); ++i) {
    at = instruction.next();
    const auto target = instruction.branch_target();
    if (instruction.is_call() || (instruction.is_jump() && target)) {
      const auto entered = target ? graph_.entered_at(module, *target) : std::vector<CodeGraph::Function>();
      if (entered.empty() && instruction.is_jump()) return std::nullopt;
      const auto given = std::find_if(kArgumentRegisters.begin(), kArgumentRegisters.end(),
                                      [&](unsigned reg) { return holders.has(reg); });
      const bool counts = enters(module, instruction, counted);
      if (given != kArgumentRegisters.end() && !entered.empty() && !counts)
        return Sink{entered.front().symbol.name, *target, static_cast<unsigned>(*given)};
      holders.call();
    }
    if (!instruction.falls_through()) return std::nullopt;
    holders.follow(instruction);
  }
  return std::nullopt;
}

// On the way to the call something was taken: a reference, or a new object with the one that it was born
// with.
bool SinkCalls::is_taken(const Module& module, Address call, const Taking& taking) {
  const StraightWay way = straight_way(module, call);
  return std::any_of(way.instructions.begin(), way.instructions.end(), [&](const DecodedInstruction& before) {
    return taking.contains({&module, before.address}) || (before.is_call() && enters(module, before, taking));
  });
}

std::optional<NamedFrame> SinkCalls::frame_at(const LoadedModule& loaded, Address call) {
  const std::vector<SourceFrame> frames = loaded.module->code().source_frames(call);
  if (frames.empty() || frames.front().file.empty() || frames.front().line == 0) return std::nullopt;
  NamedFrame frame;
  frame.function = frames.front().function;
  frame.file = frames.front().file;
  frame.line = frames.front().line;
  frame.module = loaded.module->path();
  frame.pc = loaded.bias + call;
  frame.inlined = frames.front().inlined;
  return frame;
}

void SinkCalls::look(const LoadedModule& loaded, const FunctionSymbol& function, const Sink& sink,
                     const Taking& taking, std::vector<NamedFrame>& untaken) {
  const Module& module = loaded.module->code();
  std::vector<std::uint8_t> bytes(function.size);
  if (!module.read_code(function.address, bytes.data(), bytes.size())) return;
  const CodeRange range{function.address, bytes};
  const InstructionDecoder decoder;
  DecodedInstruction instruction;
  for (Address at = range.address; at < range.end() && decoder.decode(range, at, instruction);
       at = instruction.next()) {
    const bool calls = instruction.is_call() || instruction.is_jump();
    if (!calls || instruction.branch_target() != sink.target || is_taken(module, at, taking)) continue;
    if (auto frame = frame_at(loaded, at)) untaken.push_back(std::move(*frame));
  }
}

SinkCalls::Found SinkCalls::without_get(FamilyId family, const NamedFrame& get) {
  const auto [entry, added] = known_.try_emplace({family, get.pc});
  Found& found = entry->second;
  const LoadedModule* loaded = added ? module_of(modules_, get) : nullptr;
  if (loaded == nullptr || is_system_path(get.module)) return found;
  const Module& module = loaded->module->code();
  const std::vector<Role> gets{Role::get, Role::try_get};
  const Taking taking = sites_of(family, {Role::get, Role::try_get, Role::init, Role::alloc});
  const Taking counted = sites_of(family, {Role::get, Role::try_get, Role::init, Role::alloc, Role::put});
  const auto sink = sink_behind(module, get.pc - loaded->bias, sites_of(family, gets), counted);
  if (!sink) return found;
  std::set<Address> seen;  // functions have several names
  for (const FunctionSymbol& function : module.functions()) {
    if (function.size != 0 && function.size < kLargest && seen.insert(function.address).second)
      look(*loaded, function, *sink, taking, found.untaken);
  }
  if (found.untaken.size() > kMostUntaken) found.untaken.clear();
  std::sort(found.untaken.begin(), found.untaken.end(),
            [](const NamedFrame& a, const NamedFrame& b) { return a.line < b.line; });
  found.sink = demangle(sink->name);
  return found;
}

}  // namespace refhist
