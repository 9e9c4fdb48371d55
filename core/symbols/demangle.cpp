#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "symbols/module.h"

namespace refhist {

namespace {

CloneKind suffix_kind(std::string_view suffix) {
  if (suffix == "part") return CloneKind::part;
  if (suffix == "isra") return CloneKind::isra;
  if (suffix == "constprop") return CloneKind::constprop;
  if (suffix == "cold") return CloneKind::cold;
  // Renamed by link-time optimisation, or an alias: still the whole function with its own arguments.
  if (suffix == "lto_priv" || suffix == "llvm" || suffix == "localalias") return CloneKind::whole;
  return CloneKind::other;
}

/// What says most about how the code may be used: a piece of a function before changed arguments.
int weight(CloneKind kind) {
  switch (kind) {
    case CloneKind::whole:
      return 0;
    case CloneKind::constprop:
      return 1;
    case CloneKind::isra:
      return 2;
    case CloneKind::other:
      return 3;
    case CloneKind::part:
      return 4;
    case CloneKind::cold:
      return 5;
  }
  return 0;
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string demangle(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

std::string_view clone_base(std::string_view name) {
  const std::size_t dot = name.find('.', 1);
  return name.substr(0, dot);
}

CloneKind clone_kind(std::string_view name) {
  CloneKind kind = CloneKind::whole;
  name.remove_prefix(std::min(clone_base(name).size() + 1, name.size()));
  while (!name.empty()) {
    const std::string_view suffix = name.substr(0, name.find('.'));
    name.remove_prefix(std::min(suffix.size() + 1, name.size()));
    if (all_digits(suffix)) continue;
    const CloneKind next = suffix_kind(suffix);
    if (weight(next) > weight(kind)) kind = next;
  }
  return kind;
}

}  // namespace refhist
