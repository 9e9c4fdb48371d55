// Compares moved code with the original, by decoding both.
#pragma once

#include <string>

#include "patching/patch.h"

namespace refhist_test {

/// What is different, in one line; empty when every instruction does at the stub what it did at its place.
std::string difference_when_moved(const refhist::Patch& patch, refhist::Address stub);

}  // namespace refhist_test
