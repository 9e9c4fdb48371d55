// One code address where a probe is armed, or a copy of a probed function that is not, with the reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "families/family.h"
#include "symbols/module.h"
#include "x86/counter_instruction.h"

namespace refhist {

struct Site {
  FamilyId family;
  Role role = Role::get;
  ObjectSource object;
  CallCondition only;
  Success success = Success::always;
  bool may_exist = false;      ///< as ProbeSpec's
  std::uint8_t arguments = 0;  ///< as ProbeSpec's
  std::uint8_t pool_argument = 0;
  std::uint8_t size_argument = 0;
  std::uint8_t times_argument = 0;
  ModuleId module;
  Address file_address = 0;
  Address address = 0;     ///< in memory; meaningful while the module is loaded
  std::uint64_t size = 0;  ///< bytes of the function; 0 unknown
  std::string function;    ///< demangled, clone suffix kept
  CloneKind clone = CloneKind::whole;
  bool inlined = false;
  bool known_objects_only = false;  ///< what it changes may be another type's counter
  bool armed = false;
  bool current = true;         ///< of the process that runs, or ran last
  bool in_agent = false;       ///< armed in the program, not by a breakpoint
  bool unloaded = false;       ///< its module is gone
  std::string why_not;         ///< when !armed
  std::string why_breakpoint;  ///< why not in the agent; empty when it is, or was not asked for
  std::string inlined_into;    ///< for inlined copies: function and place
  std::optional<CounterInstruction> counter;  ///< of an armed inlined copy: it is what `address` means
  FileRange copy;                             ///< of an inlined copy: where all its code lies
  /// Of a site that is armed at an instruction: sites of other families at the same one. Nothing is armed for
  /// them; its executions are theirs too. Of a function that has a condition: sites with another one.
  std::vector<SiteId> colocated;
  SiteId colocated_with;   ///< of such a site: what is armed for it
  std::uint64_t hits = 0;  ///< executions seen

  /// No function's, but a macro's, or done by hand: `function` says what is done, "refs++".
  [[nodiscard]] bool in_place() const {
    return counter && (function.ends_with("++") || function.ends_with("--"));
  }

  [[nodiscard]] bool returns_object() const { return object.from == ObjectSource::From::result; }
  /// The object or the outcome is known only when the call returns.
  [[nodiscard]] bool watches_return() const {
    return returns_object() || success != Success::always || role == Role::realloc ||
           (object.indirect && (role == Role::init || role == Role::alloc || role == Role::try_get));
  }
};

}  // namespace refhist
