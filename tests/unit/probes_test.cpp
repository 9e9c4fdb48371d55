// Families, their files, the catalog, and function names as users write them.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "families/family.h"
#include "families/family_catalog.h"
#include "families/family_file.h"
#include "families/function_pattern.h"
#include "symbols/module.h"

using namespace refhist;

namespace {

/// The message of the Error that `run` throws; empty when it throws none.
template <class Run>
std::string error_of(Run&& run) {
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string parse_error(const std::string& text) {
  return error_of([&] { parse_families(text, "mine.toml"); });
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "refhist-probes-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) fail("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  void write(const std::string& name, const std::string& text) const { std::ofstream(path_ / name) << text; }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

const char* const kConn = R"(schema = 1
[[family]]
name = "conn"
description = "a connection"
modules = ["libnet.so*", "server"]
type = "struct conn"
count = "refs.counter"
count_offset = 16
count_size = 8
count_shift = 1
count_scale = -1
count_bias = 2
immortal = "negative"
born = 0
except = ["conn_get_name"]
alloc = [{ function = "conn_alloc", size = 2, pool = 1 }]
init = ["conn_new", { function = "conn_open", object = "*2", success = "zero" }]
get = ["conn_get*"]
try_get = ["conn_get_unless_zero", { function = "conn_lookup", object = "return" }]
put = [{ function = "conn_put", object = "2" }, "net::Conn::put"]
free = ["conn_free"]
pool_create = [{ function = "pool_new", object = "return" }]
pool_destroy = ["pool_free"]
)";

}  // namespace

TEST_CASE("roles and success words have names that read back") {
  for (const Role role : {Role::alloc, Role::init, Role::get, Role::try_get, Role::put, Role::free,
                          Role::pool_create, Role::pool_destroy}) {
    CHECK(role_from_name(role_name(role)) == role);
  }
  CHECK(!role_from_name("gets"));
  for (const Success success :
       {Success::always, Success::nonzero, Success::zero, Success::nonnegative, Success::truth}) {
    CHECK(success_from_name(success_name(success)) == success);
  }
  CHECK(!success_from_name("yes"));
}

TEST_CASE("an object source is an argument, an argument that points at the pointer, or the result") {
  CHECK(to_string(parse_object_source("1")) == "1");
  CHECK(to_string(parse_object_source("*6")) == "*6");
  CHECK(to_string(parse_object_source("return")) == "return");
  CHECK(parse_object_source("*3").indirect);
  CHECK(parse_object_source("*3").argument == 3);
  CHECK(parse_object_source("return").from == ObjectSource::From::result);
  for (const char* bad : {"", "*", "0", "7", "12", "**1", "result", "-1"}) {
    CHECK(error_of([&] { parse_object_source(bad); }).find("expected \"1\" to \"6\"") != std::string::npos);
  }
}

TEST_CASE("a C name matches itself and its clones only") {
  const FunctionPattern pattern("conn_put");
  CHECK(pattern.matches("conn_put", "conn_put"));
  CHECK(pattern.matches("conn_put.part.0", "conn_put.part.0"));
  CHECK(pattern.matches("conn_put.isra.0", "conn_put.isra.0"));
  CHECK_FALSE(pattern.matches("conn_put_all", "conn_put_all"));
  CHECK_FALSE(pattern.matches("_ZN3net8conn_putEv", "net::conn_put()"));
  CHECK_FALSE(pattern.is_glob());
}

TEST_CASE("what a pattern looks for in linkage names is in all that match") {
  CHECK(FunctionPattern("conn_put").needle() == "conn_put");
  CHECK(FunctionPattern("net::*::unref").needle() == "unref");
  CHECK(FunctionPattern("EVP_*_free").needle() == "_free");
  CHECK(FunctionPattern("net::Conn::~Conn()").needle() == "Conn");
  CHECK(FunctionPattern("operator new(unsigned long)").needle() == "_Znw");
  CHECK(FunctionPattern("operator delete[](void*)").needle() == "_Zda");
  for (const char* unknown :
       {"ns::operator==", "std::string::string", "ns::f<int>", "ns::get*", "*", "ns::f[abi:cxx11](int)"})
    CHECK(FunctionPattern(unknown).needle() == "");

  const auto library = Module::open("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
  REQUIRE(library != nullptr);
  std::size_t looked_for = 0;
  for (const FunctionSymbol& function : library->functions()) {
    const std::string demangled = demangle(function.name);
    for (const std::string& text : {demangled, function_part(demangled), short_function_name(demangled)}) {
      const FunctionPattern pattern(text);
      if (!pattern.matches(function.name, demangled)) continue;
      INFO(text, " ", function.name);
      CHECK(function.name.find(pattern.needle()) != std::string::npos);
      if (!pattern.needle().empty()) ++looked_for;
    }
  }
  CHECK(looked_for > library->functions().size());
}

TEST_CASE("a glob matches linkage and demangled names") {
  const FunctionPattern pattern("net::*::unref");
  CHECK(pattern.is_glob());
  CHECK(pattern.matches("_ZN3net4Conn5unrefEv", "net::Conn::unref()"));
  CHECK(pattern.matches("_ZNK3net4Conn5unrefEv", "net::Conn::unref() const"));
  CHECK_FALSE(pattern.matches("_ZN3net4Conn3refEv", "net::Conn::ref()"));
  CHECK(FunctionPattern("EVP_*_free").matches("EVP_PKEY_free", "EVP_PKEY_free"));
  CHECK(FunctionPattern("_ZN3net*").matches("_ZN3net4Conn3refEv", "net::Conn::ref()"));
}

TEST_CASE("a C++ name takes every overload and instance, a name with parameters exactly one") {
  const FunctionPattern plain("ns::f");
  CHECK(plain.matches("_ZN2ns1fEi", "ns::f(int)"));
  CHECK(plain.matches("_ZN2ns1fEv", "ns::f()"));
  CHECK(plain.matches("_ZN2ns1fIiEEvT_", "void ns::f<int>(int)"));
  CHECK_FALSE(plain.matches("_ZN2ns1gEv", "ns::g()"));
  CHECK_FALSE(FunctionPattern("f").matches("_ZN2ns1fEi", "ns::f(int)"));

  const FunctionPattern one("ns::f( int, Conn * )");
  CHECK(one.matches("_ZN2ns1fEiP4Conn", "ns::f(int, Conn*)"));
  CHECK_FALSE(one.matches("_ZN2ns1fEi", "ns::f(int)"));
  CHECK_FALSE(one.is_glob());

  CHECK(FunctionPattern("ns::f<int>").matches("_ZN2ns1fIiEEvT_", "void ns::f<int>(int)"));
  CHECK_FALSE(FunctionPattern("ns::f<char>").matches("_ZN2ns1fIiEEvT_", "void ns::f<int>(int)"));
  CHECK(FunctionPattern("ns::Ref::get").matches("_ZN2ns3RefIiE3getEv", "ns::Ref<int>::get()"));
  CHECK(FunctionPattern("_ZN2ns1fEi").matches("_ZN2ns1fEi", "ns::f(int)"));
}

TEST_CASE("the function part of a demangled name") {
  CHECK(function_part("conn_put") == "conn_put");
  CHECK(function_part("ns::f(int)") == "ns::f");
  CHECK(function_part("void ns::f<int>(int)") == "ns::f<int>");
  CHECK(function_part("std::vector<int, std::allocator<int> > ns::f<int>(char) const") == "ns::f<int>");
  CHECK(
      function_part("decltype (::new ((void*)(0)) A<B>((f<B const&>)())) std::construct_at<A<B> >(A<B>*)") ==
      "std::construct_at<A<B> >");
  CHECK(function_part("(anonymous namespace)::Conn::put()") == "(anonymous namespace)::Conn::put");
  CHECK(function_part("void (anonymous namespace)::put<int>(int*)") == "(anonymous namespace)::put<int>");
  CHECK(function_part("ns::Ref<void (int)>::put()") == "ns::Ref<void (int)>::put");
  CHECK(function_part("ns::A::operator()(int) const") == "ns::A::operator()");
  CHECK(function_part("ns::A::operator->() const") == "ns::A::operator->");
  CHECK(function_part("bool ns::operator< <int>(ns::A<int> const&)") == "ns::operator< <int>");
  CHECK(function_part("ns::A::operator bool() const") == "ns::A::operator bool");
  CHECK(function_part("operator new(unsigned long)") == "operator new");
  CHECK(function_part("ns::A::operator=(ns::A&&)") == "ns::A::operator=");
  CHECK(function_part("ns::name[abi:cxx11](int)") == "ns::name");
  CHECK(function_part("main::{lambda(int)#1}::operator()(int) const") == "main::{lambda(int)#1}::operator()");
  CHECK(function_part("ns::f(int)::{lambda()#1}::operator()() const") ==
        "ns::f(int)::{lambda()#1}::operator()");
  CHECK(function_part("ns::f(int) const::{lambda()#1}::operator()() const") ==
        "ns::f(int) const::{lambda()#1}::operator()");
  CHECK(function_part("ns::f(int) [clone .part.0]") == "ns::f");
  CHECK(function_part("ns::cooperator_put(int)") == "ns::cooperator_put");
  CHECK(function_part("").empty());
}

TEST_CASE("every key of a family is read") {
  const auto families = parse_families(kConn, "mine.toml");
  REQUIRE(families.size() == 1);
  const Family& conn = families[0];
  CHECK(conn.name == "conn");
  CHECK(conn.description == "a connection");
  CHECK(conn.modules == std::vector<std::string>{"libnet.so*", "server"});
  CHECK(conn.counter.type == "struct conn");
  CHECK(conn.counter.path == "refs.counter");
  CHECK(conn.counter.offset == 16);
  CHECK(conn.counter.size == 8);
  CHECK(conn.counter.shift == 1);
  CHECK(conn.counter.scale == -1);
  CHECK(conn.counter.bias == 2);
  CHECK(conn.counter.immortal_below_zero);
  CHECK(conn.born == 0);
  CHECK(conn.origin == "mine.toml:2");
  REQUIRE(conn.probes.size() == 11);

  CHECK(conn.probes[0].role == Role::alloc);
  CHECK(conn.probes[0].size_argument == 2);
  CHECK(conn.probes[0].pool_argument == 1);
  CHECK(to_string(conn.probes[0].object) == "return");
  CHECK(conn.probes[1].role == Role::init);
  CHECK(conn.probes[1].success == Success::always);
  CHECK(to_string(conn.probes[1].object) == "return");
  CHECK(to_string(conn.probes[2].object) == "*2");
  CHECK(conn.probes[2].success == Success::zero);
  CHECK(conn.probes[3].function == "conn_get*");
  CHECK(conn.probes[3].origin == "mine.toml:18");
  CHECK(conn.probes[4].success == Success::nonzero);
  CHECK(to_string(conn.probes[4].object) == "1");
  CHECK(to_string(conn.probes[5].object) == "return");
  CHECK(to_string(conn.probes[6].object) == "2");
  CHECK(conn.probes[8].role == Role::free);
  CHECK(to_string(conn.probes[9].object) == "return");

  CHECK(conn.has_role(Role::try_get));
  CHECK(conn.leaves_out("conn_get_name", "conn_get_name"));
  CHECK_FALSE(conn.leaves_out("conn_get", "conn_get"));
}

TEST_CASE("what is written is what is read") {
  const auto families = parse_families(kConn, "mine.toml");
  const std::string text = to_toml(families);
  const auto again = parse_families(text, "mine.toml");
  REQUIRE(again.size() == 1);
  CHECK(to_toml(again) == text);
  REQUIRE(again[0].probes.size() == families[0].probes.size());
  for (std::size_t i = 0; i < again[0].probes.size(); ++i) {
    const ProbeSpec& a = again[0].probes[i];
    const ProbeSpec& b = families[0].probes[i];
    CHECK(a.role == b.role);
    CHECK(a.function == b.function);
    CHECK(to_string(a.object) == to_string(b.object));
    CHECK(a.success == b.success);
    CHECK(a.pool_argument == b.pool_argument);
    CHECK(a.size_argument == b.size_argument);
  }
  CHECK(again[0].counter.scale == -1);
  CHECK(again[0].except == families[0].except);

  Family odd;
  odd.name = "odd";
  odd.description = "tab\t, quote \" and backslash \\";
  odd.probes.push_back({.role = Role::get, .function = "odd_ref", .object = {}, .origin = ""});
  CHECK(parse_families(to_toml(std::vector<Family>{odd}), "x")[0].description == odd.description);
}

TEST_CASE("an error names file, line, what is wrong and what is expected") {
  const std::string head = "schema = 1\n[[family]]\nname = \"conn\"\n";
  CHECK(parse_error("schema = 1\n[[family]\n").find("mine.toml:2: ") == 0);
  CHECK(parse_error("[[family]]\nname = \"a\"\nget = [\"g\"]\n") ==
        "mine.toml:1: the schema is missing; expected `schema = 1` at the top");
  CHECK(parse_error("schema = 2\n[[family]]\nname = \"a\"\nget = [\"g\"]\n") ==
        "mine.toml:1: schema 2 is not known here; expected 1");
  CHECK(parse_error("schema = 1\n") ==
        "mine.toml: there is no family; expected at least one [[family]] table");
  CHECK(parse_error("schema = 1\nfamily = 3\n") ==
        "mine.toml:2: 'family' is an integer; expected [[family]] tables");
  CHECK(parse_error("schema = 1\n[[family]]\nget = [\"g\"]\n") ==
        "mine.toml:2: 'name' is missing; expected name = \"...\"");
  CHECK(parse_error(head) == "mine.toml:2: family 'conn' has no functions; expected get and put at least");
  CHECK(parse_error(head + "gett = [\"g\"]\n")
            .find("mine.toml:4: unknown key 'gett' (did you mean get?); the keys of a family are name, ") ==
        0);
  CHECK(
      parse_error(head + "get = \"g\"\n") ==
      "mine.toml:4: 'get' is a string; expected an array of function names or { function = \"...\" } tables");
  CHECK(parse_error(head + "get = [\n  \"g\",\n  7,\n]\n") ==
        "mine.toml:6: an integer among the functions of get; expected a name or { function = \"...\" }");
  CHECK(parse_error(head + "get = [{ object = \"1\" }]\n") ==
        "mine.toml:4: 'function' is missing; expected function = \"...\"");
  CHECK(parse_error(head + "get = [{ function = \"g\", objekt = \"1\" }]\n")
            .find("mine.toml:4: unknown key 'objekt' (did you mean object?)") == 0);
  CHECK(parse_error(head + "get = [{ function = \"g\", object = \"9\" }]\n")
            .find("mine.toml:4: '9' does not say where the object is; expected") == 0);
  CHECK(parse_error(head + "get = [{ function = \"g\", success = \"nonzer\" }]\n") ==
        "mine.toml:4: unknown success 'nonzer' (did you mean nonzero?); expected always, nonzero, zero, "
        "nonnegative, truth");
  CHECK(parse_error(head + "get = [{ function = \"g\", may_exist = true }]\n") ==
        "mine.toml:4: 'may_exist' is for init only; get acts on objects that exist");
  CHECK(parse_error(head + "get = [{ function = \"g\", pool = 7 }]\n") ==
        "mine.toml:4: pool = 7; expected 6 or less");
  CHECK(parse_error(head + "count_size = 3\ncount_offset = 0\nget = [\"g\"]\n") ==
        "mine.toml:4: a counter of 3 bytes; expected 1, 2, 4 or 8");
  CHECK(parse_error(head + "count_scale = 0\nget = [\"g\"]\n").find("mine.toml:4: count_scale is 0") == 0);
  CHECK(parse_error(head + "count_size = 8\nget = [\"g\"]\n").find("mine.toml:4: count_size without") == 0);
  CHECK(parse_error(head + "born = -1\nget = [\"g\"]\n") == "mine.toml:4: born = -1; expected 0 or more");
  CHECK(parse_error(head + "get = [\"g\", \"g\"]\n") ==
        "mine.toml:4: 'g' is listed twice under get; expected it once");
  CHECK(parse_error(head + "get = [\"g\"]\n[[family]]\nname = \"conn\"\nget = [\"h\"]\n") ==
        "mine.toml:5: family 'conn' is already defined; expected another name");
  CHECK(parse_error("schema = 1\n[[family]]\nname = \"my conn\"\nget = [\"g\"]\n").find("mine.toml:3: ") ==
        0);
  CHECK(error_of([] { read_family_file("/nowhere/conn.toml"); }) ==
        "/nowhere/conn.toml: No such file or directory");
  const TemporaryFolder folder;
  CHECK(error_of([&] { read_family_file(folder.path()); }).find(folder.path() + ": not a regular file") == 0);
}

TEST_CASE("the catalog finds families by name, by file and by glob") {
  const TemporaryFolder folder;
  folder.write("net.toml",
               "schema = 1\n[[family]]\nname = \"conn\"\nget = [\"conn_get\"]\n"
               "[[family]]\nname = \"cookie\"\nget = [\"cookie_get\"]\n");
  folder.write("disk.toml", "schema = 1\n[[family]]\nname = \"inode\"\nget = [\"iget\"]\n");
  folder.write("readme.txt", "not a family");
  const FamilyCatalog catalog(folder.path());
  CHECK(catalog.families().size() == 3);
  CHECK(catalog.names() == std::vector<std::string>{"conn", "cookie", "disk", "inode", "net"});
  CHECK(catalog.find("inode").size() == 1);
  CHECK(catalog.find("net").size() == 2);
  CHECK(catalog.find("co*").size() == 2);
  CHECK(error_of([&] {
          static_cast<void>(catalog.find("con"));
        }).find("no family is named 'con' (did you mean conn?)") == 0);
  CHECK(error_of([&] { static_cast<void>(catalog.find("z*")); }).find("no family is named 'z*'") == 0);

  folder.write("other.toml",
               "schema = 1\n[[family]]\nname = \"object\"\nget = [\"object_get\"]\nalso_of = [\"net\"]\n");
  const FamilyCatalog derived(folder.path());
  CHECK(derived.find("net").size() == 3);
  CHECK(derived.find("other").size() == 1);

  folder.write("other.toml", "schema = 1\n[[family]]\nname = \"conn\"\nget = [\"c\"]\n");
  CHECK(error_of([&] { FamilyCatalog again(folder.path()); }).find("family 'conn' is already in") !=
        std::string::npos);
}

TEST_CASE("a folder that is not there is an empty catalog") {
  const FamilyCatalog catalog("/nowhere");
  CHECK(catalog.families().empty());
  CHECK(error_of([&] { static_cast<void>(catalog.find("GObject")); }).find("no family is named 'GObject'") ==
        0);
}

TEST_CASE("the shipped families are all readable, and each gets and puts or allocates and frees") {
  const FamilyCatalog catalog(REFHIST_FAMILIES_DIR);
  REQUIRE(!catalog.families().empty());
  for (const Family& family : catalog.families()) {
    CAPTURE(family.name);
    const bool gets = family.has_role(Role::get) || family.has_role(Role::try_get);
    const bool counts = gets && family.has_role(Role::put);
    CHECK((counts || (family.has_role(Role::alloc) && family.has_role(Role::free))));
    CHECK(!family.description.empty());
  }
  CHECK(catalog.find("GObject").size() == 1);
  CHECK(catalog.find("json_object").size() == 1);
}
