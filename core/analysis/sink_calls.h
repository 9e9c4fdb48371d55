// Calls that hand an object on without a reference of its own, where a sibling takes one first.
//
// `list_add(list, item_get(item))` in one function and `list_add(list, item)` in another: what answers the
// list's put is taken in the first, and missing in the second. The function that the reference is handed to,
// the sink, is read from the code behind the get; of its other calls in the module, those are told that are
// given an object without a reference.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/named_frame.h"
#include "analysis/untaken_keeps.h"
#include "sites/site_table.h"
#include "symbols/module_map.h"
#include "x86/code_graph.h"
#include "x86/straight_way.h"

namespace refhist {

class SinkCalls {
 public:
  SinkCalls(const ModuleMap& modules, const SiteTable& sites, CodeGraph& graph, UntakenKeeps& keeps)
      : modules_(modules), sites_(sites), graph_(graph), keeps_(keeps) {}

  struct Found {
    std::string sink;                          ///< its name, as the symbol table has it
    std::vector<UntakenKeeps::Place> untaken;  ///< its calls without a reference, in order of their lines
  };
  /// `get`: the frame that makes the call of a get. Nothing is found where there is no sink, or where it has
  /// so many such calls that it must have other uses.
  Found without_get(FamilyId family, const NamedFrame& get);

 private:
  struct Sink {
    std::string name;
    Address target = 0;     ///< of the calls, in the module's file
    unsigned argument = 0;  ///< 1-based
  };
  using Taking = std::set<std::pair<const Module*, Address>>;  // functions, and inlined instructions

  /// What the result of the get, as one of `gets`, is handed to. `counted`: functions of the family.
  std::optional<Sink> sink_behind(const Module& module, Address return_address, const Taking& gets,
                                  const Taking& counted);
  [[nodiscard]] Taking sites_of(FamilyId family, const std::vector<Role>& roles) const;
  bool enters(const Module& module, const DecodedInstruction& call, const Taking& functions);

  const ModuleMap& modules_;
  const SiteTable& sites_;
  CodeGraph& graph_;
  UntakenKeeps& keeps_;
  std::map<std::pair<FamilyId, Address>, Found> known_;
};

}  // namespace refhist
