// Where a function has the object that its probe is about.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "discover/handed_out.h"
#include "families/family.h"
#include "symbols/module.h"

namespace refhist {

/// What the objects of a family are, as one module's debug information tells it.
struct ObjectShape {
  const Module* module = nullptr;
  std::string type;  ///< what its gets and puts take ("struct conn"); empty: not known, and nothing follows
  std::string counter;  ///< member path in the type; empty: not known
  bool by_all = false;  ///< each function that has a signature takes or returns one
  std::string stopped;  ///< why nothing is known, after Ctrl-C: no inlined copy is looked for then
};

/// By the family's functions in the module.
ObjectShape object_shape(const Family& family, const std::optional<MemberPlace>& counter,
                         const Module& module);

/// As the probe says; but a function that returns nothing (initialisers of C, constructors of C++) has it as
/// its first argument, one that is handed a pointer to the pointer (`conn_unref(struct conn **)`) has it
/// there, so has a maker that returns a status (`int conn_open(struct conn **)`), and one that deals in a
/// struct that the objects lie in has it inside of that. One that is handed no object there, but one
/// elsewhere (`cache_put(struct cache *, struct entry *)`), has it there, and a get that is handed none
/// returns it. `signature`: by debug information, where there is some. `demangled`: its name.
ObjectPlace object_place(const ProbeSpec& probe, const std::function<std::optional<Signature>()>& signature,
                         std::string_view demangled, const ObjectShape& shape);

/// The type that is pointed at there ("struct conn"); empty when the signature does not tell.
std::string object_type(const Signature& signature, const ObjectSource& object);

}  // namespace refhist
