// What has grown, where references are out of balance, how much there was: as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/balance_tree.h"
#include "analysis/growth.h"
#include "session/session_state.h"

namespace refhist {

/// Moments of a comparison, with their names.
struct Comparison {
  std::vector<EventId> moments;
  std::vector<std::string> names;
  bool repeated = false;  ///< only what has grown in each step counts
};

/// An object that lived at both moments and has more references at the second.
struct MoreReferences {
  ObjectId object;
  std::int64_t before = 0;
  std::int64_t after = 0;
};

struct Difference {
  std::vector<PlaceGrowth> places;  ///< that have grown or shrunk
  std::vector<MoreReferences> held;
};

std::string difference_report(SessionState& state, const Comparison& comparison,
                              const Difference& difference);
std::string difference_json(SessionState& state, const Comparison& comparison, const Difference& difference);

std::string balance_report(const SessionState& state, const BalanceTree::Node& root, std::size_t objects);
std::string balance_json(const SessionState& state, const BalanceTree::Node& root, std::size_t objects);

/// `top`: how many places are told.
std::string usage_report(const SessionState& state, const std::vector<PlaceUsage>& places, std::size_t top);
std::string usage_json(const SessionState& state, const std::vector<PlaceUsage>& places);

}  // namespace refhist
