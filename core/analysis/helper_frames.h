// Functions between the user's code and a probe that take or give back a reference for whoever calls them: to
// call them is to call the probe.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/named_frame.h"
#include "symbols/module_map.h"

namespace refhist {

class HelperFrames {
 public:
  explicit HelperFrames(const ModuleMap& modules) : modules_(modules) {}

  /// `probe`: the function that was called, demangled, or "refs++" of code that counts in place; empty when
  /// it is not known. `counted`: the type of the family's objects, without "struct".
  [[nodiscard]] bool helps(std::string_view probe, std::string_view counted, const NamedFrame& frame);
  /// The frame's function by debug information.
  [[nodiscard]] std::optional<Signature> signature(const NamedFrame& frame) const;

 private:
  /// What the function says of itself, whatever was called.
  enum class Kind { other, helper, clears };
  struct Known {
    Kind kind = Kind::other;
    std::string cleared;  ///< of Kind::clears: the type that its argument points at a pointer to
  };
  const Known& known(const NamedFrame& frame);
  [[nodiscard]] Known look(const NamedFrame& frame) const;
  template <class Says>
  [[nodiscard]] bool its_module(const NamedFrame& frame, Says&& says) const;
  [[nodiscard]] bool counts_member(std::string_view counted, const NamedFrame& frame);
  [[nodiscard]] bool looks_like_count_of_member(std::string_view counted, const NamedFrame& frame) const;
  /// It is handed the counter, not the object: refcount_inc(&conn->refs).
  [[nodiscard]] bool is_handed_counter(std::string_view step, std::string_view counted,
                                       const NamedFrame& frame);
  [[nodiscard]] bool takes_counter(std::string_view path, std::string_view counted,
                                   const NamedFrame& frame) const;
  [[nodiscard]] bool keeps_for_its_owner(const NamedFrame& frame) const;

  const ModuleMap& modules_;
  std::map<std::pair<std::string, std::string>, Known> known_;                    // by module and function
  std::map<std::tuple<std::string, std::string, std::string>, bool> of_members_;  // and the counted type
  std::map<std::tuple<std::string, std::string, std::string>, bool> of_counter_;  // and the step
};

}  // namespace refhist
