#include "families/family.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "families/function_pattern.h"

namespace refhist {
namespace {

constexpr std::array<std::pair<Role, std::string_view>, 10> kRoles{{
    {Role::alloc, "alloc"},
    {Role::init, "init"},
    {Role::get, "get"},
    {Role::try_get, "try_get"},
    {Role::put, "put"},
    {Role::free, "free"},
    {Role::realloc, "realloc"},
    {Role::pool_create, "pool_create"},
    {Role::pool_destroy, "pool_destroy"},
    {Role::use, "use"},
}};

constexpr std::array<std::pair<Success, std::string_view>, 5> kSuccesses{{
    {Success::always, "always"},
    {Success::nonzero, "nonzero"},
    {Success::zero, "zero"},
    {Success::nonnegative, "nonnegative"},
    {Success::truth, "truth"},
}};

constexpr std::array<std::pair<DynamicType, std::string_view>, 4> kDynamicTypes{{
    {DynamicType::virtual_table, ""},
    {DynamicType::gtype_instance, "GTypeInstance"},
    {DynamicType::gtype, "GType"},
    {DynamicType::python, "PyObject"},
}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) {
  for (const auto& [known, name] : table) {
    if (known == value) return name;
  }
  return "?";
}

template <class Value, class Table>
std::optional<Value> value_in(const Table& table, std::string_view word) {
  for (const auto& [value, name] : table) {
    if (name == word) return value;
  }
  return std::nullopt;
}

}  // namespace

int direction(Role role) {
  switch (role) {
    case Role::get:
    case Role::try_get:
      return 1;
    case Role::put:
      return -1;
    default:
      return 0;
  }
}

std::string_view role_name(Role role) { return name_in(kRoles, role); }

std::optional<Role> role_from_name(std::string_view name) { return value_in<Role>(kRoles, name); }

std::string_view success_name(Success success) { return name_in(kSuccesses, success); }

std::optional<Success> success_from_name(std::string_view name) {
  return value_in<Success>(kSuccesses, name);
}

std::string_view dynamic_type_name(DynamicType type) { return name_in(kDynamicTypes, type); }

std::optional<DynamicType> dynamic_type_from_name(std::string_view name) {
  return name.empty() ? std::nullopt : value_in<DynamicType>(kDynamicTypes, name);
}

ObjectSource parse_object_source(std::string_view text) {
  ObjectSource source;
  if (text == "return") {
    source.from = ObjectSource::From::result;
    return source;
  }
  std::string_view digits = text;
  if (!digits.empty() && digits.front() == '*') {
    source.indirect = true;
    digits.remove_prefix(1);
  }
  if (digits.size() != 1 || digits[0] < '1' || digits[0] > '6') {
    fail(
        "'{}' does not say where the object is; expected \"1\" to \"6\" (an argument), \"*1\" to \"*6\" (an "
        "argument that points at the pointer) or \"return\"",
        text);
  }
  source.argument = static_cast<std::uint8_t>(digits[0] - '0');
  return source;
}

std::string to_string(const ObjectSource& source) {
  if (source.from == ObjectSource::From::result) return "return";
  return fmt::format("{}{}", source.indirect ? "*" : "", source.argument);
}

bool Family::has_role(Role role) const {
  return std::any_of(probes.begin(), probes.end(), [role](const ProbeSpec& p) { return p.role == role; });
}

namespace {
bool is_any_of(std::string_view function, const std::vector<std::string>& globs) {
  if (globs.empty()) return false;
  const std::string name = function_part(function);
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& pattern) { return glob_match(pattern, name); });
}
}  // namespace

bool Family::folds(std::string_view function) const { return is_any_of(function, fold); }

bool Family::runs_in(std::string_view function) const { return is_any_of(function, runs); }

bool Family::is_probed(std::string_view linkage, std::string_view demangled, std::optional<Role> role) const {
  return std::any_of(probes.begin(), probes.end(), [&](const ProbeSpec& probe) {
    return (!role || probe.role == *role) && FunctionPattern(probe.function).matches(linkage, demangled);
  });
}

bool Family::leaves_out(std::string_view linkage, std::string_view demangled) const {
  return std::any_of(except.begin(), except.end(), [&](const std::string& pattern) {
    return FunctionPattern(pattern).matches(linkage, demangled);
  });
}

}  // namespace refhist
