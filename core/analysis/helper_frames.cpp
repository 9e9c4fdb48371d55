#include "analysis/helper_frames.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "discover/refcount_names.h"
#include "families/function_pattern.h"
#include "sites/handed_counter.h"

namespace refhist {

namespace {

/// Of "ns::Ref<ns::Part>::operator=": "ns::Ref<ns::Part>" and "operator=".
std::pair<std::string_view, std::string_view> class_and_method(std::string_view name) {
  std::size_t colons = name.rfind("::operator");
  if (colons == std::string_view::npos) {
    int depth = 0;
    for (std::size_t at = name.size(); at-- > 1;) {
      if (name[at] == '>' || name[at] == ')') ++depth;
      if (name[at] == '<' || name[at] == '(') --depth;
      if (depth != 0 || name[at] != ':' || name[at - 1] != ':') continue;
      colons = at - 1;
      break;
    }
  }
  if (colons == std::string_view::npos) return {{}, name};
  return {name.substr(0, colons), name.substr(colons + 2)};
}

std::string_view plain(std::string_view name) {
  const std::string_view last = class_and_method(name).second;
  return last.substr(0, last.find('<'));
}

/// What C++ and those who write smart pointers call the functions that only take, give back and hand over.
bool only_keeps(std::string_view owner, std::string_view method) {
  static constexpr std::array kNames{
      "reset",     "swap",  "release", "attach", "detach",  "assign", "clear",  "get",
      "put",       "adopt", "take",    "retain", "ref",     "unref",  "deref",  "addref",
      "acquire",   "copy",  "drop",    "dec",    "inc",     "decref", "incref", "decrement",
      "increment", "share", "replace", "forget", "leakref", "as",     "create", "make"};
  if (method.starts_with('~') || method.starts_with("operator") || method == plain(owner)) return true;
  std::string bare;
  for (const char c : method.substr(0, method.find('<'))) {
    if (c != '_') bare += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (bare.starts_with("internal")) bare.erase(0, 8);
  return std::find(kNames.begin(), kNames.end(), bare) != kNames.end();
}

/// An override that leaves the counting to its base class, or a constructor or destructor that runs its
/// base's.
bool leaves_to_base(std::string_view called, std::string_view caller) {
  const auto [base, function] = class_and_method(called);
  const auto [derived, override] = class_and_method(caller);
  if (base.empty() || derived.empty()) return false;
  const bool constructors = function == plain(base) && override == plain(derived);
  const bool destructors = function.starts_with('~') && override.starts_with('~');
  return plain(called) == plain(caller) || constructors || destructors;
}

/// Made by GLib's macros, by Vala and for the cleanup attribute.
bool is_cleanup(std::string_view function) {
  static constexpr std::array<std::string_view, 6> kBegin{
      "glib_autoptr_clear_",        "glib_autoptr_cleanup_",      "glib_listautoptr_cleanup_",
      "glib_slistautoptr_cleanup_", "glib_queueautoptr_cleanup_", "glib_auto_cleanup_"};
  const bool vala =
      function.starts_with('_') && (function.ends_with("_ref0") || function.ends_with("_unref0"));
  return vala || std::any_of(kBegin.begin(), kBegin.end(),
                             [&](std::string_view begin) { return function.starts_with(begin); });
}

/// "conn" of "struct conn **".
std::string_view pointed_twice(std::string_view type) {
  type = trim(type);
  for (int stars = 0; stars < 2; ++stars) {
    if (!type.ends_with('*')) return {};
    type = trim(type.substr(0, type.size() - 1));
  }
  if (type.ends_with('*')) return {};
  const std::size_t blank = type.rfind(' ');
  return blank == std::string_view::npos ? type : type.substr(blank + 1);
}

}  // namespace

bool HelperFrames::helps(std::string_view probe, std::string_view counted, const NamedFrame& frame) {
  if (frame.function.empty()) return false;
  const Known& it = known(frame);
  if (it.kind == Kind::helper) return true;
  if (counts_member(counted, frame)) return true;
  if (it.kind == Kind::clears && plain(it.cleared) == plain(counted)) return true;
  if (probe.empty()) return false;
  if (probe.ends_with("++") || probe.ends_with("--")) return is_handed_counter(probe, counted, frame);
  const std::string called = function_part(probe);
  const std::string caller = function_part(frame.function);
  if (caller == called + "p") return true;  // sd_bus_message_unrefp, for the cleanup attribute
  return called != caller && leaves_to_base(called, caller);
}

// It may be loaded more than once.
template <class Says>
bool HelperFrames::its_module(const NamedFrame& frame, Says&& says) const {
  for (const LoadedModule* loaded : modules_.all()) {
    if (loaded->module->path() == frame.module && says(loaded->module->code())) return true;
  }
  return false;
}

bool HelperFrames::counts_member(std::string_view counted, const NamedFrame& frame) {
  if (counted.empty()) return false;
  const auto [entry, added] = of_members_.try_emplace({frame.module, frame.function, std::string(counted)});
  if (added) entry->second = looks_like_count_of_member(counted, frame);
  return entry->second;
}

// request_put(request), of a struct that the counted one lies in.
bool HelperFrames::looks_like_count_of_member(std::string_view counted, const NamedFrame& frame) const {
  static constexpr std::array<std::string_view, 10> kWords{"get",  "put",     "ref",    "unref",  "hold",
                                                           "drop", "release", "retain", "incref", "decref"};
  const std::vector<std::string> words = name_words(plain(function_part(frame.function)));
  const auto is_verb = [](const std::string& word) {
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
  };
  const bool counts = !words.empty() && (is_verb(words.front()) || is_verb(words.back()));
  const auto function = counts ? signature(frame) : std::nullopt;
  if (!function || function->parameters.size() != 1) return false;
  std::string_view type = trim(function->parameters.front().type);
  if (!type.ends_with('*')) return false;
  type = trim(type.substr(0, type.size() - 1));
  return its_module(frame, [&](const Module& module) { return module.embeds(type, counted); });
}

bool HelperFrames::is_handed_counter(std::string_view step, std::string_view counted,
                                     const NamedFrame& frame) {
  const auto [entry, added] = of_counter_.try_emplace({frame.module, frame.function, std::string(step)});
  if (added) entry->second = takes_counter(step.substr(0, step.size() - 2), counted, frame);
  return entry->second;
}

bool HelperFrames::takes_counter(std::string_view path, std::string_view counted,
                                 const NamedFrame& frame) const {
  const auto function = signature(frame);
  return function && its_module(frame, [&](const Module& module) {
           return handed_counter(*function, counted, path, module).has_value();
         });
}

const HelperFrames::Known& HelperFrames::known(const NamedFrame& frame) {
  const auto [entry, added] = known_.try_emplace({frame.module, frame.function});
  if (added) entry->second = look(frame);
  return entry->second;
}

HelperFrames::Known HelperFrames::look(const NamedFrame& frame) const {
  const std::string name = function_part(frame.function);
  const bool of_library = name.starts_with("std::") || name.starts_with("__gnu_cxx::");
  if (of_library || is_cleanup(name) || keeps_for_its_owner(frame)) return {Kind::helper, {}};
  const auto function = signature(frame);
  if (!function || function->parameters.empty() || function->parameters.size() > 2) return {};
  const std::string_view cleared = pointed_twice(function->parameters.front().type);
  // port_reference(&task->port, port) gives back what was there and takes what comes instead.
  const bool replaces = function->parameters.size() == 2;
  if (replaces && plain(function->parameters[1].pointee) != plain(cleared)) return {};
  return cleared.empty() ? Known{} : Known{Kind::clears, std::string(cleared)};
}

bool HelperFrames::keeps_for_its_owner(const NamedFrame& frame) const {
  const std::string name = function_part(frame.function);
  const auto [owner, method] = class_and_method(name);
  if (owner.empty() || !only_keeps(owner, method)) return false;
  return its_module(frame, [&owner = owner](const Module& module) { return module.wraps_pointer(owner); });
}

std::optional<Signature> HelperFrames::signature(const NamedFrame& frame) const {
  for (const LoadedModule* loaded : modules_.all()) {
    if (loaded->module->path() != frame.module) continue;
    const Module& module = loaded->module->code();
    if (!module.has_debug_info()) continue;
    const auto function = frame.inlined ? std::nullopt : module.function_at(frame.pc - 1 - loaded->bias);
    auto signature =
        function ? module.signature(*function) : module.inlined_signature(std::string(frame.function));
    if (signature) return signature;
  }
  return std::nullopt;
}

}  // namespace refhist
