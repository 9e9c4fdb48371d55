#include "sites/object_place.h"

#include <set>

#include "base/interruption.h"
#include "base/text.h"
#include "families/function_pattern.h"
#include "sites/inlined_sites.h"
#include "sites/planner.h"

namespace refhist {

namespace {

std::string_view without_tag(std::string_view type) {
  type = trim(type);
  for (const std::string_view tag : {"struct ", "class ", "union ", "const "}) {
    if (type.starts_with(tag)) return without_tag(type.substr(tag.size()));
  }
  return type;
}

/// "struct conn **" or "Conn *&" of a struct conn, or of what is as good as one.
bool points_at_pointer(std::string_view parameter, const ObjectShape& shape) {
  parameter = trim(parameter);
  if (!parameter.ends_with("**") && !parameter.ends_with("*&")) return false;
  const std::string_view type = trim(parameter.substr(0, parameter.size() - 2));
  if (without_tag(type) == without_tag(shape.type)) return true;
  const auto size = shape.module->type_size(type);
  return size && size == shape.module->type_size(shape.type);
}

/// How far from its beginning a struct of that type has an object; nothing when it has none, or several.
std::optional<std::int64_t> place_inside(const std::string& type, const ObjectShape& shape) {
  constexpr std::uint64_t kLargest = 64 * 1024;  // bytes of a struct that is looked through
  constexpr std::uint64_t kStep = 4;             // counters lie at such offsets
  if (type.empty() || shape.counter.empty() || without_tag(type) == without_tag(shape.type)) return {};
  const auto size = shape.module->type_size(type);
  const auto inner = shape.module->member(shape.type, shape.counter);
  if (!size || !inner || *size > kLargest || *size == shape.module->type_size(shape.type)) return {};
  const std::string whole = shape.module->member_at(shape.type, inner->offset).path;
  std::optional<std::int64_t> found;
  for (std::uint64_t offset = inner->offset; offset + inner->size <= *size; offset += kStep) {
    const std::string path = shape.module->member_at(type, offset).path;
    if (path != whole && !path.ends_with("." + whole)) continue;
    if (found) return std::nullopt;
    found = static_cast<std::int64_t>(offset - inner->offset);
  }
  return found;
}

std::optional<Signature> signature_of(const Module& module, const ProbeSpec& probe) {
  const std::vector<FunctionSymbol> functions = matching_functions(module, probe.function);
  if (!functions.empty()) return module.signature(functions.front());
  for (const std::string& name : inlined_functions(module, probe.function)) {
    if (auto signature = module.inlined_signature(name)) return signature;
  }
  return std::nullopt;
}

}  // namespace

namespace {

bool counts(const ProbeSpec& probe) {
  return probe.role == Role::init || probe.role == Role::get || probe.role == Role::try_get ||
         probe.role == Role::put;
}

/// What the function is handed pointers to, or returns one to; nothing where one may be to a pointer.
std::optional<std::set<std::string>> pointees_of(const Signature& signature) {
  std::set<std::string> all{signature.result_pointee};
  for (const Parameter& parameter : signature.parameters) {
    const std::string_view type = trim(parameter.type);
    if (type.ends_with("**") || type.ends_with("*&")) return std::nullopt;
    all.insert(parameter.pointee);
  }
  all.erase("");
  return all;
}

/// What each of the functions takes or returns: what is born, or else the only such type.
std::string type_of_all(const Family& family, const Module& module) {
  std::optional<std::set<std::string>> common;
  std::string born;
  for (const ProbeSpec& probe : family.probes) {
    if (!counts(probe) || is_glob(probe.function)) continue;
    const auto signature = signature_of(module, probe);
    const auto pointees = signature ? pointees_of(*signature) : std::nullopt;
    if (!pointees) continue;
    if (probe.role == Role::init && born.empty()) born = signature->result_pointee;
    if (!common) {
      common = pointees;
    } else {
      std::erase_if(*common, [&](const std::string& type) { return !pointees->contains(type); });
    }
  }
  if (!common || common->empty()) return {};
  if (common->contains(born)) return born;
  return common->size() == 1 ? *common->begin() : std::string();
}

void read_shape(const Family& family, const std::optional<MemberPlace>& counter, ObjectShape& shape) {
  const Module& module = *shape.module;
  shape.type = family.counter.part_at ? family.counter.type : type_of_all(family, module);
  shape.by_all = !shape.type.empty() && !family.counter.part_at;
  for (const ProbeSpec& probe : family.probes) {
    if (!shape.type.empty()) break;
    const bool plain = probe.role == Role::get || probe.role == Role::put;
    if (!plain || is_glob(probe.function) || probe.object.indirect) continue;
    const auto signature = signature_of(module, probe);
    if (signature) shape.type = object_type(*signature, probe.object);
  }
  if (!shape.type.empty() && counter)
    shape.counter = module.member_at(shape.type, counter->offset).plain_path();
}

/// Where one that is handed no object in that argument has it.
std::optional<ObjectPlace> elsewhere(const ProbeSpec& probe, const Signature& known,
                                     const ObjectShape& shape) {
  if (!shape.by_all || !counts(probe)) return std::nullopt;
  const std::string there = object_type(known, probe.object);
  if (there == shape.type || place_inside(there, shape)) return std::nullopt;
  ObjectPlace place{probe.object, probe.success};
  unsigned found = 0;
  for (unsigned number = 1; number <= known.parameters.size(); ++number) {
    if (known.parameters[number - 1].pointee != shape.type) continue;
    if (found++ != 0) return std::nullopt;
    place.object.argument = number;
  }
  if (found == 1) return place;
  if (probe.role == Role::put || known.result_pointee != shape.type) return std::nullopt;
  place.object = {};
  place.object.from = ObjectSource::From::result;
  place.success = Success::nonzero;
  return place;
}

}  // namespace

ObjectShape object_shape(const Family& family, const std::optional<MemberPlace>& counter,
                         const Module& module) {
  ObjectShape shape;
  shape.module = &module;
  if (!module.has_debug_info() || family.allocator) return shape;
  try {
    read_shape(family, counter, shape);
  } catch (const Interrupted& stopped) {
    shape.type.clear();
    shape.stopped = stopped.what();
  }
  return shape;
}

ObjectPlace object_place(const ProbeSpec& probe, const std::function<std::optional<Signature>()>& signature,
                         std::string_view demangled, const ObjectShape& shape) {
  const bool result = probe.object.from == ObjectSource::From::result;
  ObjectPlace place{probe.object, probe.success};
  if ((!result && shape.type.empty()) || probe.object.indirect) return place;
  const auto known = signature();
  const auto there = [&](const Parameter& parameter) { return points_at_pointer(parameter.type, shape); };
  if (result && known && !shape.type.empty()) {
    if (auto out = handed_out(*known, there)) return *out;
  }
  if (result && (known ? known->result_type == "void" : is_constructor(demangled)))
    place.object = ObjectSource{};
  if (!known || shape.type.empty()) return place;
  const bool argument = place.object.from == ObjectSource::From::argument;
  const auto other = argument && !result ? elsewhere(probe, *known, shape) : std::nullopt;
  if (other) return *other;
  if (argument && place.object.argument <= known->parameters.size() &&
      there(known->parameters[place.object.argument - 1])) {
    place.object.indirect = true;
    return place;
  }
  place.object.adjust = place_inside(object_type(*known, place.object), shape).value_or(0);
  return place;
}

std::string object_type(const Signature& signature, const ObjectSource& object) {
  if (object.from == ObjectSource::From::result) return signature.result_pointee;
  return object.argument <= signature.parameters.size() ? signature.parameters[object.argument - 1].pointee
                                                        : std::string();
}

}  // namespace refhist
