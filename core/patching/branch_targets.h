#pragma once
#include "patching/patch.h"
#include "symbols/module.h"
namespace refhist {
class BranchTargets { public: static BranchTargets of(const Module&, Address) { return {}; } };
PatchResult plan_patch(const PatchRequest&, const BranchTargets&);
}
