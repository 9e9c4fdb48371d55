#include "sites/object_place.h"

#include "families/function_pattern.h"

namespace refhist {

namespace {

/// "net::Conn<int>::Conn": the last part of the name is the class's.
bool is_constructor(std::string_view demangled) {
  const std::string name = short_function_name(demangled);
  const std::size_t last = name.rfind("::");
  if (last == std::string::npos) return false;
  const std::string scope = name.substr(0, last);
  const std::size_t outer = scope.rfind("::");
  return name.substr(last + 2) == (outer == std::string::npos ? scope : scope.substr(outer + 2));
}

}  // namespace

ObjectSource object_place(const ProbeSpec& probe, const std::function<std::optional<Signature>()>& signature,
                          std::string_view demangled) {
  if (probe.object.from != ObjectSource::From::result) return probe.object;
  const auto known = signature();
  const bool returns_nothing = known ? known->result_type == "void" : is_constructor(demangled);
  return returns_nothing ? ObjectSource{} : probe.object;
}

std::string object_type(const Signature& signature, const ObjectSource& object) {
  if (object.from == ObjectSource::From::result) return signature.result_pointee;
  return object.argument <= signature.parameters.size() ? signature.parameters[object.argument - 1].pointee
                                                        : std::string();
}

}  // namespace refhist
