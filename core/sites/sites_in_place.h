// Gets and puts that no function makes: what a macro changes, or code that counts by hand.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sites/counter_finder.h"
#include "sites/counting_calls.h"
#include "sites/last_puts.h"
#include "sites/memory_changes.h"
#include "sites/site.h"
#include "symbols/module_map.h"

namespace refhist {

/// Of one family in one module, each instruction that changes by one what lies where the family's objects
/// have their counter, and each test for the last reference behind which no zero is stored. Only the
/// displacement tells that it is the counter, so such a site counts for known live objects alone
/// (`Site::known_objects_only`).
///
/// A role is looked for where the family names no function of it: next to a function, a change would be told
/// twice. The debug information has to know the family's type: other code does not count its objects.
class SitesInPlace {
 public:
  SitesInPlace(FamilyId id, const Family& family, const std::optional<MemberPlace>& counter,
               const LoadedModule& module);

  /// `others`: the sites that are known already.
  [[nodiscard]] std::vector<Site> find(const std::vector<Site>& others);

 private:
  [[nodiscard]] bool knows_counter() const;
  [[nodiscard]] bool wants(Role role) const;
  void look_at_all();
  /// Most functions have no such instruction, and need no closer look.
  [[nodiscard]] bool may_count(const CodeRange& code) const;
  void look_at(const FunctionSymbol& function, const CodeRange& code);
  void look_at_changes(const CodeRange& code, const std::vector<MemoryChange>& changes);
  [[nodiscard]] bool is_exchange(const CounterInstruction& change) const;
  void look_at_tests(const std::vector<MemoryChange>& changes);
  [[nodiscard]] bool calls_helper(const CodeRange& code);
  /// Calls of helpers that are handed the counter, unless they have a site themselves.
  void look_at_calls(const FunctionSymbol& function);
  void consider(const MemoryChange& change, int step);
  [[nodiscard]] std::optional<CounterInstruction> at_place(const MemoryChange& change, Role role,
                                                           const MemberPlace& counter);
  /// The same in a function that is handed the counter.
  [[nodiscard]] std::optional<CounterInstruction> in_helper(const MemoryChange& change, Role role,
                                                            const SourceFrame& frame);
  void add(Role role, const CounterInstruction& instruction, const std::vector<SourceFrame>& frames);
  /// The function counts by itself: its calls are the events.
  [[nodiscard]] bool is_counting(const std::string& linkage, const std::string& demangled) const;
  /// Only functions that count by themselves call it.
  [[nodiscard]] bool serves_counting(const FunctionSymbol& function) const;
  void give_up(const std::string& why);

  FamilyId id_;
  const Family& family_;
  const std::optional<MemberPlace>& counter_;
  const LoadedModule& loaded_;
  const Module& module_;
  MemoryChanges changes_;
  CountingCalls helpers_;
  LastPuts last_puts_;
  std::map<std::string, std::optional<std::uint64_t>> handed_;  // by function
  std::map<Address, bool> counts_;                              // functions that are called: helpers are
  std::set<Address> taken_;                                     // by other sites
  std::set<Address> holders_;                                   // functions that have a site
  std::vector<Site> found_;
};

}  // namespace refhist
