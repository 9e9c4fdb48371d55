// What is kept or given back where, and where its reference had been taken: by objects without a mistake.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "explain/put_match.h"
#include "explain/put_references.h"

namespace refhist {

class KnownPairs {
 public:
  /// Those of the object that no other match of its references comes near.
  void learn(const PutReferences& correct);
  /// The costs of match_puts(), by what is known.
  [[nodiscard]] std::vector<std::vector<double>> costs(
      const PutReferences& seen, const std::vector<PutReferences::Source>& sources) const;
  [[nodiscard]] bool empty() const { return by_taken_.empty(); }

 private:
  using Places = std::map<std::string, std::set<std::string>>;
  [[nodiscard]] double cost_of(const TakenReference& taken, const GivenReference& given,
                               const std::set<std::string>& all_taken,
                               const std::set<std::string>& all_given) const;

  Places by_taken_;  // where it was taken -> where it was kept or given back
  Places by_given_;
};

}  // namespace refhist
