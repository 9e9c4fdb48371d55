#include "explain/known_pairs.h"

#include <algorithm>
#include <optional>

namespace refhist {

namespace {

using Sources = std::vector<PutReferences::Source>;
using Costs = std::vector<std::vector<double>>;

std::string place_of(const CallStack& stack) {
  return stack.empty() ? std::string() : line_key(stack.front());
}

/// What is born is born somewhere else each time, and kept in the same way. The first event is a birth of
/// objects that were released clean, and of most others.
std::string place_of(const TakenReference& taken) { return taken.at == 0 ? "birth" : place_of(taken.stack); }

std::string place_of(const GivenReference& given) {
  return (given.stored ? "store " : "put ") + place_of(given.stack);
}

bool share_any(const std::set<std::string>& one, const std::set<std::string>& other) {
  return std::any_of(one.begin(), one.end(), [&](const std::string& place) { return other.contains(place); });
}

/// Of one choice of sources.
struct Choice {
  std::vector<GivenReference> given;
  Costs costs;
};

Choice choice_of(const PutReferences& seen, const Sources& sources) {
  Choice choice{seen.given_by(sources), {}};
  for (const GivenReference& given : choice.given) {
    std::vector<double> row;
    row.reserve(seen.taken().size() + 1);
    for (const TakenReference& taken : seen.taken()) row.push_back(given.cost + pair_cost(taken, given));
    row.push_back(given.cost + given.unlikely);
    choice.costs.push_back(std::move(row));
  }
  return choice;
}

/// The least that a match costs which has no pair of these two places.
std::optional<double> least_without(const PutReferences& seen, const std::vector<Choice>& choices,
                                    const std::string& taken, const std::string& given) {
  std::optional<double> least;
  for (const Choice& choice : choices) {
    Costs costs = choice.costs;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      for (std::size_t k = 0; k < seen.taken().size(); ++k) {
        if (place_of(choice.given[i]) == given && place_of(seen.taken()[k]) == taken)
          costs[i][k] = kImpossible;
      }
    }
    const auto match = match_puts(costs, seen.taken().size());
    if (match && (!least || match->cost < *least)) least = match->cost;
  }
  return least;
}

}  // namespace

void KnownPairs::learn(const PutReferences& correct) {
  constexpr double kSure = 3;  // that any other match costs more
  std::vector<Choice> choices;
  std::optional<PutMatch> best;
  const Choice* chosen = nullptr;
  const std::vector<Sources> all = correct.choices();
  choices.reserve(all.size());
  for (const Sources& sources : all) {
    Choice& choice = choices.emplace_back(choice_of(correct, sources));
    for (std::vector<double>& row : choice.costs) row.back() = kImpossible;
    auto match = match_puts(choice.costs, correct.taken().size());
    if (!match || (best && best->cost <= match->cost)) continue;
    best = std::move(match);
    chosen = &choice;
  }
  if (!best) return;
  for (std::size_t i = 0; i < best->taken.size(); ++i) {
    const std::string taken = place_of(correct.taken()[*best->taken[i]]);
    const std::string given = place_of(chosen->given[i]);
    const auto other = least_without(correct, choices, taken, given);
    if (other && *other < best->cost + kSure) continue;
    by_taken_[taken].insert(given);
    by_given_[given].insert(taken);
  }
}

double KnownPairs::cost_of(const TakenReference& taken, const GivenReference& given,
                           const std::set<std::string>& all_taken,
                           const std::set<std::string>& all_given) const {
  constexpr double kKnown = 8;
  constexpr double kOther = 4;  // that is known to go together with another one, which is there as well
  const double cost = pair_cost(taken, given);
  if (cost >= kImpossible) return cost;
  const auto kept = by_taken_.find(place_of(taken));
  const auto from = by_given_.find(place_of(given));
  if (kept != by_taken_.end() && kept->second.contains(place_of(given))) return std::max(0.0, cost - kKnown);
  const bool other = (kept != by_taken_.end() && share_any(kept->second, all_given)) ||
                     (from != by_given_.end() && share_any(from->second, all_taken));
  return other ? cost + kOther : cost;
}

Costs KnownPairs::costs(const PutReferences& seen, const Sources& sources) const {
  Choice choice = choice_of(seen, sources);
  if (empty()) return choice.costs;
  std::set<std::string> all_taken;
  std::set<std::string> all_given;
  for (const TakenReference& taken : seen.taken()) all_taken.insert(place_of(taken));
  for (const GivenReference& given : choice.given) all_given.insert(place_of(given));
  for (std::size_t i = 0; i < choice.given.size(); ++i) {
    const GivenReference& given = choice.given[i];
    for (std::size_t k = 0; k < seen.taken().size(); ++k)
      choice.costs[i][k] = given.cost + cost_of(seen.taken()[k], given, all_taken, all_given);
  }
  return choice.costs;
}

}  // namespace refhist
