// The vector registers of a thread, as words that may be pointers.
#pragma once

#include <vector>

#include "base/types.h"

namespace refhist {

/// All eight-byte words that are not zero of the x87, SSE and AVX registers, straight from the kernel.
/// Nothing unless the calling thread traces the thread.
std::vector<Address> traced_vector_words(long tid);

}  // namespace refhist
