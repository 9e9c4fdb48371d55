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

constexpr std::size_t kMostBehind = 32;  // instructions from the get to the sink

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
  std::vector<std::pair<Address, Holders>> waiting{{return_address, holders_behind(way.instructions)}};
  std::set<Address> seen;
  DecodedInstruction instruction;
  while (!waiting.empty() && seen.size() < kMostBehind) {
    const Address at = waiting.front().first;
    Holders holders = std::move(waiting.front().second);
    waiting.erase(waiting.begin());
    if (!seen.insert(at).second || !read_instruction(module, at, instruction)) continue;
    const auto target = instruction.branch_target();
    if (instruction.is_call() || (instruction.is_jump() && target)) {
      const auto entered = target ? graph_.entered_at(module, *target) : std::vector<CodeGraph::Function>();
      const auto given = std::find_if(kArgumentRegisters.begin(), kArgumentRegisters.end(),
                                      [&](unsigned reg) { return holders.has(reg); });
      const bool counts = enters(module, instruction, counted);
      if (given != kArgumentRegisters.end() && !entered.empty() && !counts)
        return Sink{entered.front().symbol.name, *target,
                    static_cast<unsigned>(given - kArgumentRegisters.begin()) + 1};
      holders.call();
    }
    holders.follow(instruction);
    if ((instruction.is_branch() || instruction.is_jump()) && target) waiting.emplace_back(*target, holders);
    if (instruction.falls_through()) waiting.emplace_back(instruction.next(), holders);
  }
  return std::nullopt;
}

SinkCalls::Found SinkCalls::without_get(FamilyId family, const NamedFrame& get) {
  const auto [entry, added] = known_.try_emplace({family, get.pc});
  Found& found = entry->second;
  const LoadedModule* loaded = added ? module_of(modules_, get) : nullptr;
  if (loaded == nullptr || is_system_path(get.module)) return found;
  const Module& module = loaded->module->code();
  const std::vector<Role> gets{Role::get, Role::try_get};
  const Taking counted = sites_of(family, {Role::get, Role::try_get, Role::init, Role::alloc, Role::put});
  const auto sink = sink_behind(module, get.pc - loaded->bias, sites_of(family, gets), counted);
  if (!sink) return found;
  found.untaken = keeps_.calls(family, *loaded, sink->target, sink->argument);
  found.sink = demangle(sink->name);
  return found;
}

}  // namespace refhist
