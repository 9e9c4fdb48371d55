// Proposes families from what loaded modules define: names, signatures and what the code does.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "discover/refcount_evidence.h"
#include "families/family.h"
#include "symbols/module.h"
#include "x86/function_index.h"

namespace refhist {

struct Proposal {
  Family family;       ///< ready to be tracked: names, object arguments, counter when found
  std::string module;  ///< path of the module that defines the functions
  std::string why;     ///< the evidence in a few words: "names; get adds 1 to [arg1+4], put subtracts 1"
};

struct DiscoverOptions {
  std::string pattern;                                    ///< glob over function and family names; empty: all
  std::function<bool(std::string_view module)> progress;  ///< called per module; false interrupts
  /// What a function does that is inlined everywhere; none: such functions are not looked at.
  std::function<WalkedFunction(const Module&, const FunctionIndex&, const std::string& function)> copies;
};

std::vector<Proposal> discover(const std::vector<std::shared_ptr<const Module>>& modules,
                               const DiscoverOptions& options);

}  // namespace refhist
