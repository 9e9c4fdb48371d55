#include "sites/object_place.h"

#include <doctest/doctest.h>

namespace refhist {

namespace {

ProbeSpec maker() {
  ProbeSpec probe;
  probe.role = Role::init;
  probe.object.from = ObjectSource::From::result;
  return probe;
}

bool is_argument(std::string_view name, const std::optional<Signature>& signature = std::nullopt) {
  const ObjectSource place = object_place(maker(), [&] { return signature; }, name, {}).object;
  return place.from == ObjectSource::From::argument && place.argument == 1;
}

Signature returning(std::string type) {
  Signature signature;
  signature.result_type = std::move(type);
  return signature;
}

}  // namespace

TEST_CASE("a function that returns nothing has its object as its first argument") {
  CHECK(is_argument("conn_init", returning("void")));
  CHECK_FALSE(is_argument("conn_new", returning("struct conn *")));
  CHECK_FALSE(is_argument("conn_init"));  // nothing tells
}

TEST_CASE("constructors are told by their names where there is no debug information") {
  CHECK(is_argument("net::Conn::Conn(int)"));
  CHECK(is_argument("net::Conn<std::pair<int, char> >::Conn()"));
  CHECK(is_argument("Conn::Conn(Conn const&)"));
  CHECK_FALSE(is_argument("net::Conn::make(int)"));
  CHECK_FALSE(is_argument("net::make(net::Conn)"));
  CHECK_FALSE(is_argument("Conn"));
}

TEST_CASE("where a probe says which argument, that is it") {
  ProbeSpec probe = maker();
  probe.object.from = ObjectSource::From::argument;
  probe.object.argument = 2;
  CHECK(object_place(probe, [] { return returning("void"); }, "conn_init", {}).object.argument == 2);
}

TEST_CASE("a maker that returns a status hands its object out by a parameter") {
  const auto there = [](const Parameter& parameter) { return parameter.type == "struct conn **"; };
  Signature open = returning("int");
  open.parameters = {{"port", "int", ""}, {"out", "struct conn **", ""}};
  const auto place = handed_out(open, there);
  REQUIRE(place);
  CHECK(to_string(place->object) == "*2");
  CHECK(place->success == Success::zero);
  open.result_type = "bool";
  CHECK(handed_out(open, there)->success == Success::truth);
  open.result_type = "void";
  CHECK(handed_out(open, there)->success == Success::always);
}

TEST_CASE("nothing is handed out by a function that returns a pointer, or has several such parameters") {
  const auto there = [](const Parameter& parameter) { return parameter.type == "struct conn **"; };
  Signature swap = returning("int");
  swap.parameters = {{"one", "struct conn **", ""}, {"other", "struct conn **", ""}};
  CHECK_FALSE(handed_out(swap, there));
  swap.parameters.pop_back();
  swap.returns_pointer = true;
  CHECK_FALSE(handed_out(swap, there));
  swap.parameters.clear();
  swap.returns_pointer = false;
  CHECK_FALSE(handed_out(swap, there));
}

TEST_CASE("where each function deals in one type, that tells where each has its object") {
  ObjectShape shape;
  shape.type = "struct entry";
  shape.by_all = true;
  ProbeSpec probe;
  probe.role = Role::put;
  Signature put = returning("void");
  put.parameters = {{"from", "struct cache *", "struct cache"}, {"entry", "struct entry *", "struct entry"}};
  const auto place = [&](const Signature& known) {
    return object_place(
        probe, [&] { return std::optional(known); }, "cache_put", shape);
  };
  CHECK(to_string(place(put).object) == "2");
  put.parameters.push_back({"other", "struct entry *", "struct entry"});
  CHECK(to_string(place(put).object) == "1");  // two of them
  probe.role = Role::get;
  Signature get = returning("struct entry *");
  get.result_pointee = "struct entry";
  get.parameters = {{"name", "const char *", ""}};
  CHECK(to_string(place(get).object) == "return");
  CHECK(place(get).success == Success::nonzero);
  shape.by_all = false;
  CHECK(to_string(place(get).object) == "1");
}

}  // namespace refhist
