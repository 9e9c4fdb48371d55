// The sites inside of functions: the instructions by which a copy of a probed function, inlined somewhere or
// not, changes the counter.
#pragma once

#include <vector>

#include "families/family.h"
#include "sites/counting_calls.h"
#include "sites/memory_changes.h"
#include "sites/object_place.h"
#include "sites/site.h"
#include "symbols/module_map.h"

namespace refhist {

/// Linkage names of the functions that the pattern matches and that may have been inlined here; a plain name
/// itself, whether there is such a function or not.
std::vector<std::string> inlined_functions(const Module& module, const std::string& text);

/// One family in one module.
class InlinedSites {
 public:
  InlinedSites(FamilyId id, const Family& family, const std::optional<MemberPlace>& counter,
               const LoadedModule& module, const ObjectShape& shape)
      : id_(id), family_(family), counter_(counter), module_(module), shape_(shape) {}

  /// Of every inlined copy of the probe's function; a copy in which nothing can be armed is a site with the
  /// reason.
  void add_copies(const ProbeSpec& probe);
  /// Of the function itself, and of what the compiler split off it.
  void add_inside(const ProbeSpec& probe, const FunctionSymbol& function);
  /// Of a maker that does not return its object any more. A clone in which nothing can be armed is a site
  /// with the reason; false for another function in which nothing can be.
  bool add_lost(const ProbeSpec& probe, const FunctionSymbol& function);
  /// Each instruction once: a copy inside of another one shares its instructions. With the copies that debug
  /// information does not tell of.
  [[nodiscard]] std::vector<Site> take();

 private:
  void add_unknown(const ProbeSpec& probe, const std::string& why);
  void add_copies_of(const ProbeSpec& probe, const std::string& function);
  /// `inner`: copies of the same function that lie in this one, as those of conn_put in what it calls at the
  /// end. Their changes are theirs.
  void add(const ProbeSpec& probe, const Site& site, const InlinedCopy& copy,
           const std::vector<FileRange>& inner);
  [[nodiscard]] bool is_part_of_probe(const Site& site, const InlinedCopy& copy) const;
  [[nodiscard]] std::vector<std::string> functions_of(const ProbeSpec& probe) const;

  FamilyId id_;
  const Family& family_;
  const std::optional<MemberPlace>& counter_;
  const LoadedModule& module_;
  const ObjectShape& shape_;
  MemoryChanges changes_{*module_.module};
  CountingCalls helpers_{*module_.module, changes_, family_};
  std::vector<Site> sites_;
};

/// A site of the probe, without its place.
Site make_site(FamilyId id, const ProbeSpec& probe, const LoadedModule& module);

}  // namespace refhist
