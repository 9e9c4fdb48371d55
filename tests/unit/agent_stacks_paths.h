// Ways into deep stacks, compiled in several ways: each goes from function to function by chance and calls
// agent_stacks_probe on the way in and on the way out.
#pragma once

#include <cstdint>

namespace refhist_test {

struct StackPath {
  explicit StackPath(std::uint64_t seed) : state(seed * 2654435761U + 88172645463325252U) {}
  std::uint32_t next(std::uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<std::uint32_t>(state >> 33) % below;
  }
  std::uint64_t state;
  int probes_left = 1000;
  bool coroutines = true;  ///< not within one, nor in a signal handler
  bool signals = true;
};

void walk_unoptimized(StackPath& path, int depth);
void walk_optimized(StackPath& path, int depth);
void walk_realigned(StackPath& path, int depth);

/// Raises a signal whose handler goes on with the path; on the thread's signal stack if it has one.
using PathFunction = void (*)(StackPath& path, int depth);
void walk_in_handler(StackPath& path, int depth, PathFunction walk);
/// Goes on with the path on a stack of its own, which is gone afterwards.
void walk_in_coroutine(StackPath& path, int depth, PathFunction walk);

}  // namespace refhist_test
