// Which of its arguments a function that takes or gives back a reference has the object in.
#pragma once

#include <map>
#include <utility>

#include "sites/site_table.h"
#include "symbols/module_map.h"
#include "x86/code_graph.h"

namespace refhist {

class CountedArguments {
 public:
  CountedArguments(const ModuleMap& modules, const SiteTable& sites, CodeGraph& graph)
      : modules_(modules), sites_(sites), graph_(graph) {}

  /// Of what a call to `target` enters, an address in the module's file: its number (1-based), the first one
  /// where that is not known, or families have their objects in different ones.
  unsigned of(const Module& module, Address target);

 private:
  void know_sites();

  const ModuleMap& modules_;
  const SiteTable& sites_;
  CodeGraph& graph_;
  std::map<std::pair<const Module*, Address>, unsigned> known_;  // 0: different ones
  std::size_t sites_seen_ = 0;
};

}  // namespace refhist
