// Code that counts with macros or by hand: which of its instructions are gets and puts.
#include "sites/sites_in_place.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "families/family_file.h"
#include "sites/planner.h"
#include "x86/stepped_loads.h"

namespace refhist::test {

namespace {

constexpr Address kBegin = 0x1000;

std::map<Address, int> steps_in(const std::vector<std::uint8_t>& bytes) {
  std::map<Address, int> steps;
  for (const auto& [at, step] : SteppedLoads::in({kBegin, bytes})) steps.emplace(at - kBegin, step);
  return steps;
}

Family item(const std::string& more) {
  return parse_families(
             "schema = 1\n[[family]]\nname = \"item\"\ntype = \"struct item\"\ncount = \"refs\"\n" + more,
             "mine.toml")
      .front();
}

/// "put drop", "put drop" of each site that is counted in place.
std::multiset<std::string> in_place(const Family& family) {
  const LoadedModule loaded{ModuleId(std::size_t{0}), Module::open(REFHIST_FIXTURES_DIR "/counted_in_place"),
                            0, 0, ~Address{0}};
  const auto counter = place_counter(family, {&loaded});
  REQUIRE(counter);
  std::multiset<std::string> found;
  for (const Site& site : plan_sites(FamilyId(std::size_t{0}), family, counter, loaded)) {
    if (!site.in_place()) continue;
    CHECK(site.known_objects_only);
    CHECK(site.why_not.empty());
    found.insert(std::string(role_name(site.role)) + " " +
                 site.inlined_into.substr(0, site.inlined_into.find(' ')));
  }
  return found;
}

}  // namespace

TEST_CASE("a store of what was loaded, one more or less, is a step") {
  // mov eax,[rdi+8]; add eax,1; mov [rdi+8],eax
  CHECK(steps_in({0x8b, 0x47, 0x08, 0x83, 0xc0, 0x01, 0x89, 0x47, 0x08}) == std::map<Address, int>{{6, 1}});
  // mov eax,[rdi+8]; lea edx,[rax-1]; mov [rsi],rdi; mov [rdi+8],edx: whatever else is stored meanwhile
  CHECK(steps_in({0x8b, 0x47, 0x08, 0x8d, 0x50, 0xff, 0x48, 0x89, 0x3e, 0x89, 0x57, 0x08}) ==
        std::map<Address, int>{{9, -1}});
  // mov ebx,[rdi+8]; lea eax,[rbx+1]; mov [rdi+8],eax; mov [rdi+8],ebx: taken and given back
  CHECK(steps_in({0x8b, 0x5f, 0x08, 0x8d, 0x43, 0x01, 0x89, 0x47, 0x08, 0x89, 0x5f, 0x08}) ==
        std::map<Address, int>{{6, 1}, {9, 0}});
  // mov eax,[rax+8]; sub eax,1; mov [rbp-4],eax; mov edx,[rbp-4]; mov [rax+8],edx: by way of a variable
  CHECK(steps_in({0x8b, 0x40, 0x08, 0x83, 0xe8, 0x01, 0x89, 0x45, 0xfc, 0x8b, 0x55, 0xfc, 0x89, 0x50,
                  0x08}) == std::map<Address, int>{{12, -1}});
}

TEST_CASE("what is copied, stored elsewhere or lost in a call is no step") {
  // mov eax,[rdi+8]; mov [rsi+8],eax
  CHECK(steps_in({0x8b, 0x47, 0x08, 0x89, 0x46, 0x08}).empty());
  // mov eax,[rdi+8]; add eax,1; mov [rdi+12],eax
  CHECK(steps_in({0x8b, 0x47, 0x08, 0x83, 0xc0, 0x01, 0x89, 0x47, 0x0c}).empty());
  // mov eax,[rdi+8]; add eax,1; mov [rdi+8],rax: it is wider
  CHECK(steps_in({0x8b, 0x47, 0x08, 0x83, 0xc0, 0x01, 0x48, 0x89, 0x47, 0x08}).empty());
  // mov eax,[rdi+8]; add eax,1; call +0; mov [rdi+8],eax
  CHECK(steps_in({0x8b, 0x47, 0x08, 0x83, 0xc0, 0x01, 0xe8, 0, 0, 0, 0, 0x89, 0x47, 0x08}).empty());
}

TEST_CASE("a family without gets and puts is counted in place") {
  CHECK(in_place(item("init = [\"item_new\"]\n")) ==
        std::multiset<std::string>{"get take", "get borrow", "put borrow", "put drop", "put drop",
                                   "put item_lower"});
}

TEST_CASE("a role that has functions is theirs") {
  CHECK(in_place(item("init = [\"item_new\"]\nput = [\"item_put\"]\n")) ==
        std::multiset<std::string>{"get take", "get borrow"});
  CHECK(in_place(item("init = [\"item_new\"]\nget = [\"take\"]\n")) ==
        std::multiset<std::string>{"put borrow", "put drop", "put drop", "put item_lower"});
  CHECK(in_place(item("init = [\"item_new\"]\nget = [\"take\"]\nput = [\"item_put\"]\n")).empty());
}

TEST_CASE("what only a function of the family calls is a part of it") {
  CHECK(in_place(item("init = [\"item_new\"]\nget = [\"item_put\"]\n")) ==
        std::multiset<std::string>{"put borrow", "put drop", "put drop"});
}

}  // namespace refhist::test
