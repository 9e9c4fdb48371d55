#include "sites/handed_counter.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace refhist {

namespace {

/// "unsigned int *", "_Atomic int *", "atomic_long *": what a counter may be.
bool is_number(std::string_view pointer) {
  static constexpr std::array<std::string_view, 5> kWords{"int", "unsigned", "long", "short", "size_t"};
  const std::string_view type = trim(pointer.substr(0, pointer.size() - 1));
  return !type.ends_with('*') && std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return type.find(word) != std::string_view::npos;
  });
}

/// Of "base.refs", the struct that is `base` has `refs`.
std::optional<std::uint64_t> end_of(std::string_view path, const std::string& type, const Module& module) {
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    try {
      if (const auto place = module.member(type, std::string(path.substr(dot + 1)))) return place->offset;
    } catch (const Error&) {
      continue;  // that struct has no such member
    }
  }
  return std::nullopt;
}

/// "conn" of "struct conn".
std::string_view last_word(std::string_view type) { return type.substr(type.rfind(' ') + 1); }

}  // namespace

std::optional<std::uint64_t> handed_counter(const Signature& function, std::string_view counted,
                                            std::string_view path, const Module& module) {
  std::optional<std::uint64_t> found;
  for (const Parameter& parameter : function.parameters) {
    if (!parameter.type.ends_with('*')) continue;
    const bool number = parameter.pointee.empty() && is_number(parameter.type);
    if (last_word(parameter.pointee) == last_word(counted)) return std::nullopt;
    const auto here = number ? std::optional<std::uint64_t>(0) : end_of(path, parameter.pointee, module);
    if (!here) return std::nullopt;
    if (!found) found = here;
  }
  return found;
}

}  // namespace refhist
