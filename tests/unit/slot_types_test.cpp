#include <doctest/doctest.h>

#include "fixture_program.h"
#include "symbols/module.h"

namespace refhist {

namespace {

Address entry_of(const Module& module, std::string_view name) {
  return module.functions_named(name).front().address;
}

/// Of the function's variables that point at a struct, at some instruction of it.
bool is_held(const Module& module, std::string_view function, const LocalPointer& wanted) {
  const FunctionSymbol symbol = module.functions_named(function).front();
  for (Address at = symbol.address; at < symbol.address + symbol.size; ++at) {
    for (const LocalPointer& one : module.pointers_at(at)) {
      if (one.name == wanted.name && one.pointee == wanted.pointee &&
          one.reg.has_value() == wanted.reg.has_value())
        return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("what a struct has at an offset: members, elements of arrays, and what they point at") {
  const auto module = Module::open(test::build_fixture("kept_slots.c", "-g -O2"));
  const auto at = [&](std::uint64_t offset) { return module->member_at("struct shelf", offset); };
  CHECK(at(0).path == "name[]");
  CHECK(at(24).path == "first");
  CHECK(at(24).pointee == "item");
  CHECK(at(32).path == "more[]");
  CHECK(at(56).path == "more[]");
  CHECK(at(56).pointee == "item");
  CHECK(at(64).path == "pairs[].left");
  CHECK(at(88).path == "pairs[].weight");
  CHECK(at(88).pointee.empty());
  CHECK(at(88).plain_path() == "pairs");
  CHECK(at(1000).path.empty());
}

TEST_CASE("what a variable has at an offset, by the unit that knows it") {
  const auto module = Module::open(test::build_fixture("kept_slots.c", "-g -O2"));
  const Address code = entry_of(*module, "make");
  const auto size = module->type_size("struct shelf");
  REQUIRE(size);
  const auto variable = [&](Address in, const char* name, std::uint64_t offset) {
    return module->variable_at(in, DataSymbol{name, module->data_symbol(name).value_or(0), 0}, offset);
  };
  const VariableAt element = variable(code, "shelves", 2 * *size + 24);
  CHECK(element.known);
  CHECK(element.element);
  CHECK(element.type == "shelf");
  CHECK(element.offset == 24);
  const VariableAt pointer = variable(code, "last", 0);
  CHECK(pointer.known);
  CHECK_FALSE(pointer.element);
  CHECK(pointer.type.empty());
  CHECK(pointer.pointee == "item");
  CHECK_FALSE(variable(code, "nothing", 0).known);
  CHECK_FALSE(variable(0, "last", 0).known);
}

TEST_CASE("variables that point at a struct, in registers and on the stack") {
  const auto fast = Module::open(test::build_fixture("kept_slots.c", "-g -O2"));
  CHECK(is_held(*fast, "keep", {"shelf", "shelf", 5U}));
  CHECK(is_held(*fast, "make", {"made", "shelf", 0U}));
  CHECK(fast->pointers_at(0).empty());
  const auto slow = Module::open(test::build_fixture("kept_slots.c", "-g -O0"));
  CHECK(is_held(*slow, "keep", {"item", "item", std::nullopt}));
  CHECK(is_held(*slow, "make", {"made", "shelf", std::nullopt}));
}

}  // namespace refhist
