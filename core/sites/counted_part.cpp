#include "sites/counted_part.h"

#include <algorithm>

#include "base/interruption.h"
#include "base/text.h"
#include "discover/refcount_names.h"
#include "families/function_pattern.h"
#include "sites/inlined_sites.h"
#include "sites/planner.h"

namespace refhist {

namespace {

bool is_same(const std::string& one, const std::string& other) {
  return without_struct(one) == without_struct(other);
}

/// The only type that it takes a pointer to where it takes the object; empty when that may be the whole.
std::string taken_by(const Signature& signature, const ProbeSpec& probe, const std::string& whole) {
  const bool returns = probe.object.from == ObjectSource::From::result;
  if (is_same(signature.result_pointee, whole) || (returns && signature.result_type != "void")) return {};
  const auto takes_whole = [&](const Parameter& parameter) { return is_same(parameter.pointee, whole); };
  if (std::any_of(signature.parameters.begin(), signature.parameters.end(), takes_whole)) return {};
  const std::size_t number = returns ? 1 : probe.object.argument;
  return number <= signature.parameters.size() ? signature.parameters[number - 1].pointee : std::string();
}

class PartSearch {
 public:
  PartSearch(const CounterSpec& counter, const Module& module) : counter_(counter), module_(module) {}

  std::optional<CountedPart> of(const ProbeSpec& probe) {
    if (probe.object.indirect || probe.inside || is_glob(probe.function)) return std::nullopt;
    for (const FunctionSymbol& function : matching_functions(module_, probe.function)) {
      if (auto part = of(probe, function.name, module_.signature(function))) return part;
    }
    for (const std::string& name : inlined_functions(module_, probe.function)) {
      if (auto part = of(probe, name, module_.inlined_signature(name))) return part;
    }
    return std::nullopt;
  }

 private:
  std::optional<CountedPart> of(const ProbeSpec& probe, const std::string& function,
                                const std::optional<Signature>& signature) {
    const std::string type = signature ? taken_by(*signature, probe, counter_.type) : std::string();
    if (type.empty() || is_same(type, counter_.type)) return std::nullopt;
    const auto whole = member(counter_.type, counter_.path);
    if (!whole) return std::nullopt;
    const bool may_be_base = function.starts_with("_Z");
    for (std::size_t begin = may_be_base ? 0 : next_name(0); begin != std::string::npos;
         begin = next_name(begin)) {
      const std::string path = counter_.path.substr(begin);
      const auto inner = member(type, path);
      if (inner && inner->size == whole->size && inner->offset < whole->offset &&
          lies_at(type, begin, whole->offset - inner->offset))
        return CountedPart{type, path, whole->offset - inner->offset};
    }
    return std::nullopt;
  }

  /// Nothing for a bit-field that cannot be read.
  [[nodiscard]] std::optional<MemberPlace> member(const std::string& type, const std::string& path) const {
    try {
      return module_.member(type, path);
    } catch (const Interrupted&) {
      throw;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  [[nodiscard]] std::size_t next_name(std::size_t begin) const {
    const std::size_t dot = counter_.path.find('.', begin);
    return dot == std::string::npos ? dot : dot + 1;
  }

  /// The member whose name ends in front of `path_begin` is there, and of that size; or what begins there has
  /// the same members, as a base class has.
  [[nodiscard]] bool lies_at(const std::string& type, std::size_t path_begin, std::uint64_t offset) const {
    const auto size = module_.type_size(type);
    const auto all = module_.type_size(counter_.type);
    if (!size || !all || offset + *size > *all) return false;
    const auto same_at = [&](std::uint64_t at) {
      return module_.member_at(counter_.type, offset + at).path == module_.member_at(type, at).path;
    };
    if (path_begin == 0) return same_at(0) && same_at(member(type, counter_.path)->offset);
    const auto part = member(counter_.type, counter_.path.substr(0, path_begin - 1));
    return part && part->offset == offset && part->size == *size;
  }

  const CounterSpec& counter_;
  const Module& module_;
};

bool counts(const ProbeSpec& probe) {
  return probe.role == Role::init || probe.role == Role::get || probe.role == Role::try_get ||
         probe.role == Role::put;
}

}  // namespace

std::optional<CountedPart> counted_part(const Family& family,
                                        const std::vector<const LoadedModule*>& modules) {
  const CounterSpec& counter = family.counter;
  if (counter.type.empty() || counter.path.empty() || is_glob(counter.type) || !family.managed.empty())
    return std::nullopt;
  for (const LoadedModule* module : modules) {
    if (!module->module->has_debug_info()) continue;
    PartSearch search(counter, *module->module);
    for (const ProbeSpec& probe : family.probes) {
      auto part = counts(probe) ? search.of(probe) : std::nullopt;
      if (part) return part;
    }
  }
  return std::nullopt;
}

}  // namespace refhist
