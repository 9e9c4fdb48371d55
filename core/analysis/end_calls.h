// Whose references does the end of an object give back? Read from the code: from the functions that put
// objects of one family, along direct calls, to those that put objects of another one.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sites/site_table.h"
#include "x86/code_graph.h"

namespace refhist {

class EndCalls {
 public:
  EndCalls(const ModuleMap& modules, const SiteTable& sites, CodeGraph& graph)
      : modules_(modules), sites_(sites), graph_(graph) {}

  /// True when it was seen in the code. Calls through pointers are not followed: false proves nothing.
  bool give_back(FamilyId ending, FamilyId given);

 private:
  using Place = std::pair<const Module*, Address>;  // where a function begins
  void find_puts();
  std::set<FamilyId> reached_from(FamilyId ending);
  void add_called(const CodeGraph::Function& function, FileRange range,
                  std::vector<CodeGraph::Function>& called);

  const ModuleMap& modules_;
  const SiteTable& sites_;
  CodeGraph& graph_;
  std::map<Place, std::set<FamilyId>> puts_;  // by the function that they lie in
  std::size_t sites_seen_ = 0;
  std::map<FamilyId, std::set<FamilyId>> reached_;
};

}  // namespace refhist
