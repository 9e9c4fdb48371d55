#include "analysis/slot_names.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/short_name.h"

namespace refhist {

namespace {

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
SlotNames::Base SlotNames::argument(unsigned number, const Module& module, Address function) {
  const Base unknown{fmt::format("arg{}", number), {}, &module};
  const auto symbol = module.function_at(function);
  const auto signature = symbol ? module.signature(*symbol) : std::nullopt;
  if (!signature || number > signature->parameters.size()) return unknown;
  const auto parameter = signature->parameters.begin() + (number - 1);
  const bool told = std::all_of(signature->parameters.begin(), parameter,
                                [&](const Parameter& one) { return takes_one_register(one, module); });
  if (!told || parameter->name.empty()) return unknown;
  return {parameter->name, parameter->pointee, &module};
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

SlotNames::Name SlotNames::global(const Slot& slot, const Module& module) {
  const auto address = static_cast<Address>(slot.steps.front());
  const auto symbol = module.data_symbol_at(address);
  if (!symbol) return {};
  const auto offset = static_cast<std::int64_t>(address - symbol->address);
  std::string name = demangle(symbol->name);
  if (offset != 0) name = fmt::format("{}+{:#x}", name, offset);
  for (std::size_t i = 1; i < slot.steps.size(); ++i) name = in_brackets(name, slot.steps[i]);
  if (!slot.exact) return {name + "[]", name, ""};
  return {name, name, name};
}

// What is found in the place is of no known type: its members have no names. Of an element of an array it is
// not known where the array begins.
SlotNames::Name SlotNames::behind(const Base& base, const Slot& slot) {
  if (!slot.exact && slot.steps.size() == 1) return {"an array in *" + base.name, base.points_at, ""};
  const std::int64_t first = slot.steps.front();
  const std::string member = base.points_at.empty() || first < 0
                                 ? ""
                                 : base.module->member_at(base.points_at, static_cast<std::uint64_t>(first));
  std::string text = member.empty() ? in_brackets(base.name, first) : base.name + "->" + member;
  std::string path = member;
  for (std::size_t i = 1; i < slot.steps.size(); ++i) {
    text = in_brackets(text, slot.steps[i]);
    path = in_brackets(path, slot.steps[i]);
  }
  const std::string holder = member.empty() ? std::string() : base.points_at;
  if (!slot.exact) return {text + "[]", holder, ""};
  return {text, holder, path};
}

SlotNames::Name SlotNames::name(const Slot& slot, const Module& module, Address function,
                                std::optional<Address> called) {
  switch (slot.from) {
    case Slot::From::unknown:
      return {};
    case Slot::From::global:
      return global(slot, module);
    case Slot::From::argument:
      return behind(argument(slot.argument, module, function), slot);
    case Slot::From::result:
      return behind(result(module, called), slot);
  }
  return {};
}

}  // namespace refhist
