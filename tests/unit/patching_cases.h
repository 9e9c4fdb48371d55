// Functions in assembler that are hard to patch. Each has a symbol with a size.
#pragma once

#include <string>

namespace refhist_test {

struct PatchingCase {
  std::string name;
  std::string why_not;  ///< how the reason begins when it must be refused; empty when it must be patched
};

extern const PatchingCase kPatchingCases[];
extern const unsigned kPatchingCaseCount;

}  // namespace refhist_test
