#include "symbols/parameter_values.h"

#include <algorithm>
#include <span>

#include "port/registers.h"

namespace refhist {

namespace {

constexpr unsigned kRegisters = kRip;   // rax to r15
constexpr std::size_t kParameters = 6;  // as many as a probe can name

/// What follows: "DW_OP_plus_uconst 24" or nothing, then DW_OP_stack_value, without which it is a place in
/// memory.
std::optional<ParameterValue> with_rest(ParameterValue value, std::span<const Dwarf_Op> rest) {
  if (!rest.empty() && rest.front().atom == DW_OP_plus_uconst) {
    value.offset += static_cast<std::int64_t>(rest.front().number);
    rest = rest.subspan(1);
  }
  const bool is_value = rest.size() == 1 && rest.front().atom == DW_OP_stack_value;
  return is_value ? std::optional(value) : std::nullopt;
}

/// "DW_OP_breg6 -280", "DW_OP_fbreg -280" and "DW_OP_fbreg -280, DW_OP_deref, DW_OP_plus_uconst 16,
/// DW_OP_stack_value". `by_cfa`: DW_OP_fbreg counts from there.
std::optional<ParameterValue> held_by_frame(std::span<const Dwarf_Op> operations, bool by_cfa) {
  const Dwarf_Op& first = operations.front();
  const bool from_cfa = first.atom == DW_OP_fbreg && by_cfa;
  ParameterValue value;
  if (first.atom == DW_OP_breg6 || first.atom == DW_OP_breg7) {
    value.reg = first.atom - DW_OP_breg0;
  } else if (!from_cfa) {
    return std::nullopt;
  }
  value.slot = static_cast<std::int64_t>(first.number);
  if (operations.size() == 1) return value;
  return operations[1].atom == DW_OP_deref ? with_rest(value, operations.subspan(2)) : std::nullopt;
}

/// "DW_OP_reg5" and "DW_OP_breg5 24, DW_OP_stack_value".
std::optional<ParameterValue> held_by_register(std::span<const Dwarf_Op> operations) {
  const Dwarf_Op& first = operations.front();
  const unsigned code = first.atom;
  ParameterValue value;
  if (code >= DW_OP_reg0 && code < DW_OP_reg0 + kRegisters && operations.size() == 1) {
    value.reg = code - DW_OP_reg0;
    return value;
  }
  if (code < DW_OP_breg0 || code >= DW_OP_breg0 + kRegisters) return std::nullopt;
  value.reg = code - DW_OP_breg0;
  value.offset = static_cast<std::int64_t>(first.number);
  return with_rest(value, operations.subspan(1));
}

/// "DW_OP_addr X, DW_OP_stack_value": the address of a variable, or of a part of it.
std::optional<ParameterValue> of_variable(Dwarf_Attribute* attribute, std::span<const Dwarf_Op> operations) {
  const auto address = address_in(attribute, operations.front());
  if (!address) return std::nullopt;
  ParameterValue value;
  value.offset = static_cast<std::int64_t>(*address);
  return with_rest(value, operations.subspan(1));
}

std::vector<ParameterValue> values_of(const Dwarf_Die& parameter, bool by_cfa) {
  Dwarf_Die copy = parameter;
  Dwarf_Attribute attribute;
  std::vector<ParameterValue> values;
  if (dwarf_attr(&copy, DW_AT_location, &attribute) == nullptr) return values;
  Dwarf_Addr base = 0;
  FileRange range;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  for (std::ptrdiff_t at = 0;
       (at = dwarf_getlocations(&attribute, at, &base, &range.begin, &range.end, &operations, &count)) > 0;) {
    if (count == 0) continue;
    const std::span<const Dwarf_Op> all(operations, count);
    std::optional<ParameterValue> value = held_by_register(all);
    if (!value) value = of_variable(&attribute, all);
    if (!value) value = held_by_frame(all, by_cfa);
    if (!value) continue;
    value->range = range;
    values.push_back(*value);
  }
  return values;
}

std::vector<const void*> parameters_of(const Dwarf_Die& function) {
  std::vector<const void*> parameters;
  for_each_child(function, [&](const Dwarf_Die& child) {
    // "__in_chrg" of constructors and destructors is no argument of what GCC makes of them.
    const bool argument = die_tag(child) == DW_TAG_formal_parameter && die_name(child) != "__in_chrg";
    if (argument) parameters.push_back(child.addr);
  });
  return parameters;
}

/// DW_OP_fbreg does, in that function.
bool counts_from_cfa(const Dwarf_Die& function) {
  Dwarf_Die copy = function;
  Dwarf_Attribute base;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  return dwarf_attr_integrate(&copy, DW_AT_frame_base, &base) != nullptr &&
         dwarf_getlocation(&base, &operations, &count) == 0 && count == 1 &&
         operations->atom == DW_OP_call_frame_cfa;
}

}  // namespace

std::vector<std::vector<ParameterValue>> parameter_values(const Dwarf_Die& copy, const Dwarf_Die* into) {
  std::vector<std::vector<ParameterValue>> values(kParameters);
  const auto function = die_reference(copy, DW_AT_abstract_origin);
  if (!function) return values;
  const std::vector<const void*> parameters = parameters_of(*function);
  const bool by_cfa = into != nullptr && counts_from_cfa(*into);
  for_each_child(copy, [&](const Dwarf_Die& child) {
    if (die_tag(child) != DW_TAG_formal_parameter) return;
    const auto origin = die_reference(child, DW_AT_abstract_origin);
    for (std::size_t i = 0; origin && i < std::min(parameters.size(), kParameters); ++i) {
      if (parameters[i] == origin->addr) values[i] = values_of(child, by_cfa);
    }
  });
  return values;
}

}  // namespace refhist
