// One library of this machine, as patching sees it.
#pragma once

#include <map>
#include <string>

#include "patching/module_code.h"
#include "patching/patch.h"
#include "patching/relocator.h"
#include "x86/stack_arguments.h"

namespace refhist_test {

class PatchedLibrary {
 public:
  explicit PatchedLibrary(const std::string& path, refhist::Address bias = 0)
      : module_(refhist::Module::open(path)),
        code_(*module_, bias),
        targets_(code_.code(), code_.data(), code_.starts(), bias) {}

  const refhist::Module& module() const { return *module_; }
  const refhist::ModuleCode& code() const { return code_; }
  const refhist::BranchTargets& targets() const { return targets_; }
  /// Each once, by address in memory.
  std::map<refhist::Address, refhist::FunctionSymbol> exported() const {
    std::map<refhist::Address, refhist::FunctionSymbol> functions;
    for (const refhist::FunctionSymbol& function : module_->functions()) {
      if (function.exported) functions.emplace(function.address + code_.bias(), function);
    }
    return functions;
  }

 private:
  std::shared_ptr<const refhist::Module> module_;
  refhist::ModuleCode code_;
  refhist::BranchTargets targets_;
};

}  // namespace refhist_test
