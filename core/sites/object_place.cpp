#include "sites/object_place.h"

#include "probes/function_pattern.h"

namespace refhist {

namespace {

/// "net::Conn<int>::Conn": the last part of the name is the class's.
bool is_constructor(std::string_view demangled) {
  const std::string name = function_part(demangled);
  const std::size_t colon = name.rfind("::");
  if (colon == std::string::npos) return false;
  const std::string last = name.substr(colon + 2);
  std::string around = name.substr(0, colon);
  if (around.ends_with('>')) {
    int depth = 0;
    std::size_t at = around.size();
    do {
      --at;
      depth += around[at] == '>' ? 1 : around[at] == '<' ? -1 : 0;
    } while (depth != 0 && at != 0);
    around.resize(at);
  }
  const std::size_t outer = around.rfind("::");
  return last == (outer == std::string::npos ? around : around.substr(outer + 2));
}

}  // namespace

ObjectSource object_place(const ProbeSpec& probe, const std::optional<Signature>& signature,
                          std::string_view demangled) {
  if (probe.object.from != ObjectSource::From::result) return probe.object;
  const bool returns_nothing = signature ? signature->result_type == "void" : is_constructor(demangled);
  return returns_nothing ? ObjectSource{} : probe.object;
}

}  // namespace refhist
