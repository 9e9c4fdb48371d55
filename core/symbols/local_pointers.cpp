#include "symbols/local_pointers.h"

#include <optional>
#include <span>

namespace refhist {

namespace {

constexpr std::int64_t kReturnAddress = 8;  // lies between the frame's address and the stack pointer at entry
constexpr int kMostNested = 64;             // scopes; broken debug information can nest without end

std::span<Dwarf_Op> location(const Dwarf_Die& die, unsigned attribute, Address at) {
  Dwarf_Die copy = die;
  Dwarf_Attribute found;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  const bool one = dwarf_attr_integrate(&copy, attribute, &found) != nullptr &&
                   dwarf_getlocation_addr(&found, at, &operations, &count, 1) == 1;
  return one ? std::span(operations, count) : std::span<Dwarf_Op>();
}

/// What DW_OP_fbreg counts from, as bytes from the stack pointer at entry.
std::optional<std::int64_t> frame_base(const Dwarf_Die& function, Address at) {
  const auto base = location(function, DW_AT_frame_base, at);
  if (base.size() != 1) return std::nullopt;
  if (base.front().atom == DW_OP_call_frame_cfa) return kReturnAddress;
  // push %rbp; mov %rsp, %rbp
  return base.front().atom == DW_OP_reg6 ? std::optional(-kReturnAddress) : std::nullopt;
}

/// Of the one that held the value when the function was entered.
std::optional<unsigned> entry_register(const Dwarf_Die& variable, Dwarf_Op& operation) {
  if (operation.atom != DW_OP_entry_value && operation.atom != DW_OP_GNU_entry_value) return std::nullopt;
  Dwarf_Die copy = variable;
  Dwarf_Attribute attribute;
  Dwarf_Attribute inner;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  const bool one = dwarf_attr_integrate(&copy, DW_AT_location, &attribute) != nullptr &&
                   dwarf_getlocation_attr(&attribute, &operation, &inner) == 0 &&
                   dwarf_getlocation(&inner, &operations, &count) == 0 && count == 1;
  if (!one || operations->atom < DW_OP_reg0 || operations->atom > DW_OP_reg15) return std::nullopt;
  return operations->atom - DW_OP_reg0;
}

class Finder {
 public:
  Finder(const Dwarf_Die& function, Address at, const TypeSpelling& types)
      : at_(at), types_(types), base_(frame_base(function, at)) {}

  void visit(const Dwarf_Die& scope, int depth = 0) {
    if (depth > kMostNested) return;
    for_each_child(scope, [&](const Dwarf_Die& child) {
      const int tag = die_tag(child);
      Dwarf_Die copy = child;
      if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) {
        add(child);
      } else if (is_inner_scope(tag) && dwarf_haspc(&copy, at_) == 1) {
        visit(child, depth + 1);
      }
    });
  }
  std::vector<LocalPointer> found;

 private:
  void add(const Dwarf_Die& variable) {
    const auto place = location(variable, DW_AT_location, at_);
    if (place.empty()) return;
    Dwarf_Op& first = place.front();
    const bool alone = place.size() == 1;
    LocalPointer pointer;
    if (alone && first.atom >= DW_OP_reg0 && first.atom <= DW_OP_reg15) {
      pointer.reg = first.atom - DW_OP_reg0;
    } else if (place.size() == 2 && first.atom >= DW_OP_breg0 && first.atom <= DW_OP_breg15 &&
               place[1].atom == DW_OP_stack_value) {
      pointer.reg = first.atom - DW_OP_breg0;
      pointer.behind = static_cast<std::int64_t>(first.number);
    } else if (place.size() == 2 && place[1].atom == DW_OP_stack_value) {
      pointer.reg = entry_register(variable, first);
      pointer.at_entry = true;
      if (!pointer.reg) return;
    } else if (alone && first.atom == DW_OP_fbreg && base_) {
      pointer.stack = static_cast<std::int64_t>(first.number) + *base_;
    } else {
      return;
    }
    const auto type = strip_typedefs(die_type(variable));
    if (!type || !is_pointer_like(die_tag(*type)) || !strip_typedefs(die_type(*type))) return;  // void *
    pointer.pointee = types_.pointee(type);
    pointer.name = die_name(variable);
    found.push_back(std::move(pointer));
  }

  Address at_;
  const TypeSpelling& types_;
  std::optional<std::int64_t> base_;
};

}  // namespace

std::vector<LocalPointer> local_pointers(const Dwarf_Die& function, Address at, const TypeSpelling& types) {
  Finder finder(function, at, types);
  finder.visit(function);
  return std::move(finder.found);
}

}  // namespace refhist
