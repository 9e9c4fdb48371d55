// How the agent reads the thread pointer.
//
// `rdfsbase` reads it always, also before the C library has set it. Kernels before Linux 5.9, and some
// virtual machines, do not allow that instruction. There the agent loads the word that the thread pointer
// points at, which is the thread pointer itself (System V ABI, thread-local storage, variant II): right once
// it is set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace refhist {

/// Whether the kernel lets programs use `rdfsbase`.
bool allows_rdfsbase();

/// Makes the agent's code load that word. Returns in how many places.
std::size_t load_thread_pointer(std::span<std::uint8_t> code);

}  // namespace refhist
