// What is known of functions by their names alone: those that end a path, allocate, free, or add to a
// counter.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace refhist {

/// Adds to the counter that argument 1 points at: `delta`, or what argument 2 says times `delta`.
struct KnownAddition {
  std::int64_t delta = 1;
  bool times_argument_2 = false;
  std::uint8_t size = 4;
};

std::optional<KnownAddition> known_addition(std::string_view function);
/// abort and its kin, and reports of a broken precondition: what follows is not what the function is for.
bool ends_the_path(std::string_view function);
/// By name, what it returns is memory that nobody has used yet.
bool makes_memory(std::string_view function);
/// By name, the number of the argument (1-based) that has the address of memory which is free from then on.
std::optional<unsigned> freed_argument(std::string_view function);
/// By name, it copies what argument 2 points at to where argument 1 points.
bool copies_memory(std::string_view function);
/// By name, it overwrites all that argument 1 points at with zeros, or another byte.
bool clears_memory(std::string_view function);
/// By name, it compares, measures or searches memory, or takes or lets go of a lock: it changes nothing that
/// its caller has.
bool only_looks(std::string_view function);
/// By name, argument 1 is given back: free itself and anything that is called free, destroy, finalize and the
/// like.
bool gives_back(std::string_view function);

}  // namespace refhist
