// Which put gave back which of an object's references, and which put had none: by where each was taken, and
// where the pointer that was put had been stored.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "session/followed_way.h"

namespace refhist {

/// Frames from the owner's own outwards; a frame address of 0 is not known.
using CallStack = std::vector<FollowedStep>;

struct TakenReference {
  CallStack stack;
  std::size_t at = 0;      ///< which of the object's events
  bool is_stored = false;  ///< by its code, what took it puts it into memory
};

/// What a put gives back: from a word of memory, or from a variable of its function's.
struct GivenReference {
  CallStack stack;      ///< of the store to the word, else of the put
  std::size_t at = 0;   ///< the event that came before, or is the put
  bool stored = false;  ///< a word of memory has it
  double cost = 0;      ///< the evidence against its having been there
  double unlikely = 0;  ///< the evidence against its having had no reference
};

struct PutMatch {
  double cost = 0;
  std::optional<std::size_t> unmatched;           ///< which put
  std::vector<std::optional<std::size_t>> taken;  ///< of each put
};

constexpr double kImpossible = 1e6;

/// The evidence against that what was taken is what is given.
double pair_cost(const TakenReference& taken, const GivenReference& given);

/// `costs`: of each that is given, with each that is taken; behind these, that it had no reference. No more
/// than one may have none. Nothing when no match is possible.
std::optional<PutMatch> match_puts(const std::vector<std::vector<double>>& costs, std::size_t taken);

/// In one function; where that has no lines, at one address.
bool same_line(const FollowedStep& one, const FollowedStep& other);

/// The same text for the same line.
std::string line_key(const FollowedStep& step);

/// How many frames of `inner` lie inside of the innermost one that both stacks have.
std::size_t depth_inside(const CallStack& inner, const CallStack& other);

constexpr double kFrameCost = 4;  ///< of a frame between where it is taken and where it is given

}  // namespace refhist
