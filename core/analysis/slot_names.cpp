#include "analysis/slot_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/short_name.h"
#include "port/registers.h"
#include "x86/clobbered_registers.h"
#include "x86/instruction.h"

namespace refhist {

namespace {

constexpr int kMostApart = 8;  // instructions between an access and where its variable is known

std::string in_brackets(const std::string& name, std::int64_t offset) {
  if (offset == 0) return "*" + name;
  return fmt::format("[{}{}{:#x}]", name, offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
}

/// What is passed in one general register.
bool takes_one_register(const Parameter& parameter, const Module& module) {
  constexpr std::array<std::string_view, 3> kOtherRegisters{"float", "double", "__int128"};
  const std::string_view type = parameter.type;
  if (!parameter.pointee.empty() || type.ends_with('*') || type.ends_with('&')) return true;
  if (std::any_of(kOtherRegisters.begin(), kOtherRegisters.end(),
                  [&](std::string_view other) { return type.find(other) != std::string_view::npos; }))
    return false;
  const auto size = module.type_size(type);
  return !size || *size <= sizeof(Address);
}

}  // namespace

// The registers tell which argument it is only where each one before takes one of them.
std::optional<SlotNames::Base> SlotNames::parameter(unsigned number, const Module& module, Address function) {
  const auto symbol = module.function_at(function);
  const auto signature = symbol ? module.signature(*symbol) : std::nullopt;
  if (!signature || number > signature->parameters.size()) return std::nullopt;
  const auto parameter = signature->parameters.begin() + (number - 1);
  const bool told = std::all_of(signature->parameters.begin(), parameter,
                                [&](const Parameter& one) { return takes_one_register(one, module); });
  if (!told || parameter->name.empty()) return std::nullopt;
  return Base{parameter->name, parameter->pointee, &module};
}

// A callback gets a pointer to nothing known, and a variable of a type that has its members. Where the result
// is returned in memory, that memory's address comes before the parameters.
SlotNames::Base SlotNames::argument(unsigned number, const Module& module, Address function, Address code) {
  const unsigned reg = kArgumentRegisters[number - 1];
  const auto declared = parameter(number, module, function);
  bool elsewhere = false;
  for (const LocalPointer& variable : module.pointers_at(function)) {
    if (!variable.reg || variable.behind != 0 || variable.at_entry) continue;
    if (variable.reg == reg && !variable.pointee.empty()) return {variable.name, variable.pointee, &module};
    elsewhere |= declared && variable.reg != reg && variable.name == declared->name;
  }
  const Base unknown{fmt::format("arg{}", number), {}, &module};
  if (elsewhere) return unknown;
  if (declared && !declared->points_at.empty()) return *declared;
  for (const LocalPointer& variable : module.pointers_at(code)) {
    const bool passed = variable.reg == reg && variable.behind == 0 && variable.at_entry;
    if (passed && !variable.pointee.empty()) return {variable.name, variable.pointee, &module};
  }
  return declared.value_or(unknown);
}

SlotNames::Base SlotNames::result(const Module& module, std::optional<Address> called) {
  if (!called) return {"a result", {}, &module};
  for (const CodeGraph::Function& function : graph_.entered_at(module, *called)) {
    const auto signature = function.module->signature(function.symbol);
    return {short_name(demangle(function.symbol.name)) + "()", signature ? signature->result_pointee : "",
            function.module};
  }
  return {"a result", {}, &module};
}

void SlotNames::set_inner(Name& name, const MemberAt& member) {
  if (member.inner_type.empty() || member.inner_type == name.holder) return;
  name.inner_holder = member.inner_type;
  name.inner_member = member.inner_path;
  name.inner_offset = static_cast<std::int64_t>(member.inner_offset);
}

// What a member points at that is no struct is an array of pointers: its elements are alike.
SlotNames::Name SlotNames::follow(Name name, std::string type, const Module& module, const Steps& steps) {
  for (const std::int64_t at : steps) {
    const MemberAt member =
        type.empty() || at < 0 ? MemberAt() : module.member_at(type, static_cast<std::uint64_t>(at));
    if (!member.path.empty()) {
      name = {name.text + "->" + member.path, type, member.path, !member.pointee.empty(),
              member.pointee == type};
      set_inner(name, member);
    } else {
      name = {in_brackets(name.text, at), name.holder, name.member + "[]", true};
    }
    type = member.pointee;
  }
  return name;
}

SlotNames::Name SlotNames::global(const Slot& slot, const Module& module) {
  const auto address = static_cast<Address>(slot.steps.front());
  const auto symbol = module.data_symbol_at(address);
  if (!symbol) return {};
  const Address offset = address - symbol->address;
  const VariableAt variable = module.variable_at(slot.code, *symbol, offset);
  const MemberAt member =
      variable.type.empty() ? MemberAt() : module.member_at(variable.type, variable.offset);
  std::string name = variable.name.empty() ? demangle(symbol->name) : variable.name;
  const std::string key = demangle(symbol->name);  // functions may have static variables of one name
  const Steps rest = Steps(slot.steps).subspan(1);
  if (variable.element) name += "[]";
  if (!member.path.empty()) {
    Name own{name + "." + member.path, variable.type, member.path};
    set_inner(own, member);
    return follow(std::move(own), member.pointee, module, rest);
  }
  if (!variable.known && offset != 0) name = fmt::format("{}+{:#x}", name, offset);
  Name found = follow({name, key, key}, variable.pointee, module, rest);
  if (slot.exact || found.is_element()) return found;
  return {found.text + "[]", found.holder, ""};
}

// An index may have been made less by a constant number, and the place by as many elements more.
SlotNames::Name SlotNames::behind(const Base& base, const Slot& slot) {
  constexpr int kMostElements = 4;
  Name name;
  std::vector<std::int64_t> steps = slot.steps;
  for (int i = 0; i <= kMostElements; ++i) {
    Name other = follow({base.name, "", ""}, base.points_at, *base.module, steps);
    if (i == 0 || other.is_element()) name = std::move(other);
    if (slot.exact || name.is_element() || steps.empty()) break;
    steps.back() += static_cast<std::int64_t>(sizeof(Address));
  }
  if (name.is_element()) name.offset = steps.back();
  if (name.holder.empty()) name.member.clear();
  if (slot.exact || name.is_element()) return name;
  if (slot.steps.size() == 1) return {"an array in *" + base.name, base.points_at, ""};
  return {name.text + "[]", name.holder, ""};
}

SlotNames::Name SlotNames::by_variables(const Slot& slot, const std::vector<ValuePlaces>& bases, Address at,
                                        const Module& module) {
  const std::vector<LocalPointer> variables = module.pointers_at(at);
  for (std::size_t step = std::min(bases.size(), slot.steps.size()); step-- > 0;) {
    if (Name name = behind_one(slot, step, bases[step], variables, module); !name.member.empty()) return name;
  }
  return {};
}

namespace {

void forget_written(const DecodedInstruction& instruction, std::vector<ValuePlaces>& bases) {
  const ClobberedRegisters::Set written = ClobberedRegisters::written_by(instruction);
  for (ValuePlaces& base : bases)
    std::erase_if(base.registers, [&](unsigned reg) { return (written >> reg & 1U) != 0; });
}

}  // namespace

// A compiler moves instructions to before the place where it tells of the variable.
SlotNames::Name SlotNames::behind_variable(const Slot& slot, const Module& module) {
  std::vector<ValuePlaces> bases = slot.bases;
  DecodedInstruction instruction;
  Address at = slot.code;
  for (int i = 0; i < kMostApart && read_instruction(module, at, instruction); ++i) {
    if (Name name = by_variables(slot, bases, at, module); !name.member.empty()) return name;
    if (instruction.is_call() || !instruction.falls_through()) break;
    forget_written(instruction, bases);
    at = instruction.next();
  }
  return {};
}

// A compiler also moves them to behind the place where the variable ends. Where several paths share the
// instruction, each may have had another variable.
SlotNames::Name SlotNames::before_variable(const Slot& slot, const Module& module, Address function) {
  std::vector<ValuePlaces> bases = slot.bases;
  for (ValuePlaces& base : bases) base.stack.clear();
  const auto& [all, targets] = instructions(module, function);
  if (targets.contains(slot.code)) return {};
  auto before = std::lower_bound(all.begin(), all.end(), slot.code);
  DecodedInstruction instruction;
  for (int i = 0; i < kMostApart && before != all.begin(); ++i) {
    if (!read_instruction(module, *--before, instruction) || instruction.is_call() ||
        !instruction.falls_through())
      break;
    forget_written(instruction, bases);
    if (Name name = by_variables(slot, bases, *before, module); !name.member.empty()) return name;
  }
  return {};
}

const SlotNames::Instructions& SlotNames::instructions(const Module& module, Address function) {
  const auto [known, added] = instructions_.try_emplace({&module, function});
  const auto symbol = added ? module.function_at(function) : std::nullopt;
  if (!symbol) return known->second;
  DecodedInstruction instruction;
  for (const FileRange& range : ranges_of(module, *symbol)) {
    for (Address at = range.begin; at < range.end && read_instruction(module, at, instruction);
         at = instruction.next()) {
      known->second.all.push_back(at);
      const bool jumps = instruction.is_jump() || instruction.is_branch();
      if (const auto target = jumps ? instruction.branch_target() : std::nullopt)
        known->second.targets.insert(*target);
    }
  }
  std::sort(known->second.all.begin(), known->second.all.end());
  return known->second;
}

SlotNames::Name SlotNames::behind_one(const Slot& slot, std::size_t step, const ValuePlaces& base,
                                      const std::vector<LocalPointer>& variables, const Module& module) {
  Slot rest;
  rest.steps.assign(slot.steps.begin() + static_cast<std::ptrdiff_t>(step), slot.steps.end());
  rest.exact = slot.exact;
  for (const LocalPointer& variable : variables) {
    if (!is_held(variable, base)) continue;
    rest.steps.front() = slot.steps[step] - variable.behind;
    Name name = behind({variable.name, variable.pointee, &module}, rest);
    if (!name.member.empty()) return name;
  }
  return {};
}

SlotNames::Name SlotNames::by_root(const Slot& slot, const Module& module, Address function,
                                   std::optional<Address> called) {
  switch (slot.from) {
    case Slot::From::unknown:
      return {};
    case Slot::From::global:
      return global(slot, module);
    case Slot::From::argument:
      return behind(argument(slot.argument, module, function, slot.code), slot);
    case Slot::From::result:
      return behind(result(module, called), slot);
  }
  return {};
}

SlotNames::Name SlotNames::name(const Slot& slot, const Module& module, Address function,
                                std::optional<Address> called) {
  Name name = by_root(slot, module, function, called);
  if (!name.member.empty()) return name;
  Name other = behind_variable(slot, module);
  if (other.member.empty()) other = before_variable(slot, module, function);
  return other.member.empty() ? name : other;
}

}  // namespace refhist
