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
  const ObjectSource place = object_place(
      maker(), [&] { return signature; }, name);
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
  CHECK(object_place(
            probe, [] { return returning("void"); }, "conn_init")
            .argument == 2);
}

}  // namespace refhist
