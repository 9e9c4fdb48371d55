// Where is a reference given back: in the function that took it, or in one that called it? Objects that were
// released clean show how far out on the stack of its get the function stands that usually makes the put.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/owners.h"
#include "analysis/reference_pairs.h"
#include "history/history.h"

namespace refhist {

class ReleaseDepth {
 public:
  /// `released`: objects of a family that were released clean, some of them when there are many.
  using Released = std::function<std::vector<ObjectId>(FamilyId)>;
  ReleaseDepth(const History& history, Owners& owners, ReferencePairs& pairs, Released released)
      : history_(history), owners_(owners), pairs_(pairs), released_(std::move(released)) {}

  /// What is taken in `function` is mostly given back by the function so many frames further out on the
  /// stack of the get (0: by itself), whatever its name. Nothing when that is not so.
  std::optional<std::size_t> usual(const ReferencePairs::Subject& subject, const std::string& function);

 private:
  struct Found {
    std::size_t objects = 0;
    std::map<std::string, double>
        functions;  ///< that stand there, with what they give back of such references
  };
  std::optional<std::size_t> look(const ReferencePairs::Subject& subject, const std::string& function);
  /// Adds, for each get of the object in the function, the nearest frame that also puts the object.
  void add(ObjectId id, const std::string& function, const ReferencePairs::Partners& partners,
           std::map<std::size_t, Found>& depths);

  const History& history_;
  Owners& owners_;
  ReferencePairs& pairs_;
  Released released_;
  std::map<FamilyId, std::vector<ObjectId>> objects_;
  std::map<std::pair<ReferencePairs::Subject, std::string>, std::optional<std::size_t>> known_;
};

}  // namespace refhist
