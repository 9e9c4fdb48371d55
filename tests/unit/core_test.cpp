// Small parts of the core: text, command arguments, stacks, blocks of memory.
#include <doctest/doctest.h>

#include <iterator>
#include <map>
#include <random>

#include "base/at_prompt.h"
#include "base/error.h"
#include "base/short_name.h"
#include "base/text.h"
#include "commands/command.h"
#include "events/allocations.h"
#include "history/stack_table.h"

namespace refhist {
namespace {

const std::vector<OptionSpec> kOptions{{"--family", "GLOB", ""}, {"--json", "", ""}, {"--expect", "N", ""}};

Arguments parse(const std::string& line) { return Arguments(split_words(line), kOptions, "leaks"); }

std::string error_of(const std::string& line) {
  try {
    parse(line);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("at a prompt: a terminal or an editor, and no script that ends the debugger") {
  CHECK(at_prompt({"/usr/bin/gdb", "-q", "./a"}, true));
  CHECK_FALSE(at_prompt({"gdb", "-q", "./a"}, false));
  CHECK_FALSE(at_prompt({"gdb", "-batch", "-x", "s"}, true));
  CHECK_FALSE(at_prompt({"gdb", "--batch-silent"}, true));
  CHECK(at_prompt({"gdb", "-b", "9600"}, true));
  CHECK_FALSE(at_prompt({"lldb-19", "-b", "-s", "s"}, true));
  CHECK(at_prompt({"gdb", "-i=mi"}, false));
  CHECK(at_prompt({"gdb", "--interpreter", "mi3"}, false));
  CHECK(at_prompt({"gdb", "-i=dap"}, false));
  CHECK_FALSE(at_prompt({"gdb", "-i=console"}, false));
  CHECK(at_prompt({"/usr/bin/lldb-dap-19"}, false));
  CHECK_FALSE(at_prompt({}, false));
}

TEST_CASE("C++ names as people read them") {
  const char* const text = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
  const std::string string = text;
  CHECK(short_name(string) == "std::string");
  CHECK(short_name("Bus::publish(" + string + " const&, int)") == "Bus::publish(std::string const&, int)");
  CHECK(short_name("std::map<int, " + string + ", std::less<int>, std::allocator<std::pair<int const, " +
                   string + " > > >::at(int const&)") == "std::map<int, std::string>::at(int const&)");
  CHECK(short_name("std::shared_ptr<Node>::~shared_ptr()") == "std::shared_ptr<Node>::~shared_ptr()");
  CHECK(short_name("std::_Sp_counted_ptr<Node*, (__gnu_cxx::_Lock_policy)2>::_M_dispose()") ==
        "std::_Sp_counted_ptr<Node*>::_M_dispose()");
  CHECK(short_name("std::allocator<int>::allocate(unsigned long)") ==
        "std::allocator<int>::allocate(unsigned long)");
  CHECK(short_name("a::operator<(a::b const&, a::b const&)") == "a::operator<(a::b const&, a::b const&)");
  CHECK(short_name("a::operator<< <int>(a::b&, int)") == "a::operator<< <int>(a::b&, int)");
  CHECK(short_name("ns::p<x>::operator->() const") == "ns::p<x>::operator->() const");
  CHECK(short_name("f(int)::{lambda(std::vector<int, std::allocator<int> >)#1}::operator()(int) const") ==
        "f(int)::{lambda(std::vector<int>)#1}::operator()(int) const");
  CHECK(short_name("std::__1::vector<int, std::__1::allocator<int> >") == "std::vector<int>");
  CHECK(short_name("conn_put") == "conn_put");
}

TEST_CASE("globs") {
  CHECK(glob_match("libjson-c.so*", "libjson-c.so.5"));
  CHECK(glob_match("*_get", "conn_get"));
  CHECK(glob_match("a?c*", "abcde"));
  CHECK(glob_match("*a*b", "xaybzb"));
  CHECK_FALSE(glob_match("a?c", "ac"));
  CHECK_FALSE(glob_match("", "a"));
}

TEST_CASE("nearest names") {
  CHECK(nearest("conn_gte", {"conn_put", "conn_get"}) == std::optional<std::string>("conn_get"));
  CHECK(nearest("o_gte", {"o_put", "o_get"}) == std::optional<std::string>("o_get"));
  CHECK_FALSE(nearest("conn_get", {"something_else"}).has_value());
  CHECK(edit_distance("abcd", "acbd", 3) == 1);
  CHECK(edit_distance("kitten", "sitting", 5) == 3);
  CHECK(edit_distance("abc", "xyz", 1) == 2);
}

TEST_CASE("of many words the first and how many more") {
  CHECK(some_of({"a", "b"}, 2) == "a, b");
  CHECK(some_of({"a", "b", "c", "d"}, 2) == "a, b and 2 more");
}

TEST_CASE("words of a command line") {
  CHECK(split_words("a 'b c' \"d e\" f\\ g") == std::vector<std::string>{"a", "b c", "d e", "f g"});
  CHECK(split_words("   ").empty());
  CHECK_THROWS_AS(split_words("'open"), Error);
}

TEST_CASE("options and words") {
  const Arguments arguments = parse("one --family a --family=b --json two");
  CHECK(arguments.words() == std::vector<std::string>{"one", "two"});
  CHECK(arguments.all("--family") == std::vector<std::string>{"a", "b"});
  CHECK(arguments.has("--json"));
  CHECK(parse("--expect -2").number("--expect", 0) == -2);
  CHECK(parse("--expect 0x10").number("--expect", 0) == 16);
}

TEST_CASE("wrong options are told in one line") {
  CHECK(error_of("--famly x") == "leaks has no option --famly (did you mean --family?)");
  CHECK(error_of("--family") == "--family needs a value: --family GLOB");
  CHECK(error_of("--json=1") == "--json takes no value");
  CHECK_THROWS_WITH_AS(static_cast<void>(parse("--expect two").number("--expect", 0)),
                       "--expect needs a whole number, not two", Error);
}

TEST_CASE("an expression with a minus stays words") {
  CHECK(parse("a -- b").words() == std::vector<std::string>{"a", "--", "b"});
  CHECK(parse("x - 1").words().size() == 3);
}

TEST_CASE("every command has help and its verb once") {
  for (const Command& command : command_table()) {
    CHECK_FALSE(command.summary.empty());
    CHECK(find_command(command.verb) == &command);
    CHECK(help_text(command).starts_with("refhist " + command.verb));
    for (const OptionSpec& option : command.options) CHECK_FALSE(option.help.empty());
  }
}

TEST_CASE("stacks are stored once and given back as they were") {
  StackTable table;
  const std::vector<StackFrame> outer{{ModuleId(0U), 0x10, true}, {ModuleId(0U), 0x20, false}};
  const std::vector<StackFrame> inner{{ModuleId(1U), 0x30, true}, {ModuleId(0U), 0x20, false}};
  const StackId a = table.intern(outer, false);
  const StackId b = table.intern(inner, false);
  CHECK(table.intern(outer, false) == a);
  CHECK(a != b);
  CHECK(table.size() == 3);  // the outer frame is shared
  CHECK(table.frames(a) == outer);
  CHECK(table.frames(b) == inner);
}

TEST_CASE("a truncated stack is not the whole stack of the same frames") {
  StackTable table;
  const std::vector<StackFrame> frames{{ModuleId(0U), 0x10, true}};
  const StackId whole = table.intern(frames, false);
  const StackId cut = table.intern(frames, true);
  CHECK(whole != cut);
  CHECK(table.truncated(cut));
  CHECK_FALSE(table.truncated(whole));
}

TEST_CASE("blocks cover their bytes and no more") {
  const FamilyId heap(0U);
  const FamilyId slices(1U);
  Allocations blocks;
  blocks.add(Block{0x1000, 0x100, {}, heap, {}, {}, 0});
  blocks.add(Block{0x1040, 0x10, {}, slices, {}, {}, 0});
  REQUIRE(blocks.covering(0x1048) != nullptr);
  CHECK(blocks.covering(0x1048)->begin == 0x1040);  // the inner one: made of the outer one's memory
  CHECK(blocks.covering(0x10ff)->begin == 0x1000);
  CHECK(blocks.covering(0x1100) == nullptr);
  CHECK(blocks.take(0x1040, slices).has_value());
  CHECK_FALSE(blocks.take(0x1040, slices).has_value());
  blocks.take_inside(0x0, 0x10ff);
  CHECK(blocks.count() == 1);
  blocks.take_inside(0x0, 0x1100);
  CHECK(blocks.count() == 0);
}

TEST_CASE("the first block of a slab begins where the slab does") {
  const FamilyId heap(0U);
  const FamilyId slices(1U);
  Allocations blocks;
  blocks.add(Block{0x1000, 0x400, {}, heap, {}, {}, 1});
  blocks.add(Block{0x1000, 0x40, {}, slices, {}, {}, 2});
  CHECK(blocks.covering(0x1010)->size == 0x40);
  CHECK(blocks.covering(0x1050)->size == 0x400);
  CHECK(blocks.take(0x1000, slices)->size == 0x40);
  CHECK(blocks.covering(0x1010)->size == 0x400);
  CHECK_FALSE(blocks.covered_since(0x1010, 2));
  CHECK(blocks.take(0x1000, heap)->size == 0x400);
}

TEST_CASE("a block that is handed out again was given back unseen") {
  const FamilyId heap(0U);
  Allocations blocks;
  blocks.add(Block{0x1000, 0x40, {}, heap, {}, {}, 1});
  blocks.add(Block{0x1000, 0x20, {}, heap, {}, {}, 5});
  CHECK(blocks.count() == 1);
  CHECK(blocks.covering(0x1010)->time_ns == 5);
  // calloc made on malloc: the outer call began before, and ends behind.
  blocks.add(Block{0x1000, 0x20, {}, heap, {}, {}, 4});
  CHECK(blocks.covering(0x1010)->time_ns == 5);
}

TEST_CASE("blocks of all sizes are found by an address inside") {
  const FamilyId heap(0U);
  const FamilyId slices(1U);
  Allocations blocks;
  std::map<Address, std::uint64_t> outer;
  std::mt19937_64 random(7);
  Address at = 0x10000;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t size = 1 + random() % (std::uint64_t{1} << (1 + random() % 20));
    blocks.add(Block{at, size, {}, heap, {}, {}, 1});
    outer[at] = size;
    if (size > 64) blocks.add(Block{at + size / 2, size / 4, {}, slices, {}, {}, 2});
    at += size + random() % 64;
  }
  for (auto block = outer.begin(); block != outer.end();) {
    const bool gone = random() % 3 == 0;
    if (gone) blocks.take_inside(block->first, block->first + block->second);
    block = gone ? outer.erase(block) : std::next(block);
  }
  for (int i = 0; i < 20000; ++i) {
    const Address asked = 0x10000 + random() % (at - 0x10000);
    const auto behind = outer.upper_bound(asked);
    const auto around = behind == outer.begin() ? outer.end() : std::prev(behind);
    const bool covered = around != outer.end() && asked - around->first < around->second;
    CHECK(blocks.covered_by(asked, heap) == covered);
    if (!covered) continue;
    const Address offset = asked - around->first;
    const std::uint64_t size = around->second;
    const bool inner = size > 64 && offset >= size / 2 && offset - size / 2 < size / 4;
    CHECK(blocks.covering(asked)->begin == (inner ? around->first + size / 2 : around->first));
  }
}

}  // namespace refhist
