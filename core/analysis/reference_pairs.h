// Which put gave back which reference? A guess from who takes and who gives back: objects that were released
// clean show which functions belong together. What finds no partner is the reference that was lost, or the
// put that had none to give back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/owners.h"

namespace refhist {

class ReferencePairs {
 public:
  using Counts = std::map<std::string, int>;  ///< function of the owner frame -> how often
  /// Objects that were released clean, and taken and put alike.
  struct Kind {
    Counts taken;
    Counts given_back;
    std::size_t objects = 0;
    std::size_t birthplace = 0;  ///< its number
  };
  /// Of whom something is asked: those that were born at the same place tell more than the rest of the
  /// family.
  struct Subject {
    FamilyId family;
    std::size_t birthplace = 0;
    auto operator<=>(const Subject&) const = default;
  };
  /// `kinds_of`: what there is to learn from in a family. Asked once for each.
  ReferencePairs(const Owners& owners, std::function<Subject(ObjectId)> subject_of,
                 std::function<std::vector<Kind>(FamilyId)> kinds_of)
      : owners_(owners), subject_of_(std::move(subject_of)), kinds_of_(std::move(kinds_of)) {}
  [[nodiscard]] Subject subject_of(ObjectId id) const { return subject_of_(id); }

  struct Unpaired {
    Counts taken;       ///< that nothing gave back
    Counts given_back;  ///< that nobody had taken
  };
  Unpaired unpaired(const Subject& subject, const Counts& taken, const Counts& given_back);

  /// Where what was taken in this function is given back, or the other way round: function and share. The
  /// largest comes first.
  using Partners = std::vector<std::pair<std::string, double>>;
  Partners partners_of_taken(const Subject& subject, const std::string& function);
  Partners partners_of_put(const Subject& subject, const std::string& function);

  using Pair = std::pair<std::string, std::string>;  ///< taken, given back
  /// From 0 to 1: how much of the two functions' names is the same.
  double likeness(const Pair& pair);

 private:
  struct Model {
    std::map<Pair, double> pairs;  // how often
    std::map<std::string, double> taken;
    std::map<std::string, double> given_back;
    void add(const Pair& pair, double times);
  };
  struct Match {
    Pair pair;
    double score = 0;
  };
  const Model& model_of(const Subject& subject);
  const std::vector<Kind>& kinds_of(FamilyId family);
  Model learn(const std::vector<Kind>& kinds, std::size_t birthplace, const Model* before);
  double score(const Model& model, const Pair& pair);
  /// What speaks for the pair beside what was learned.
  double prior(const Pair& pair);
  /// Calls `use(pair, times)` for what belongs together, and takes it out of both.
  template <class Use>
  void match(const Model& model, Counts& taken, Counts& given_back, Use&& use);

  const Owners& owners_;
  std::function<Subject(ObjectId)> subject_of_;
  std::function<std::vector<Kind>(FamilyId)> kinds_of_;
  std::map<FamilyId, std::vector<Kind>> kinds_;
  std::map<Subject, Model> models_;
  std::map<Pair, double> likeness_;
};

}  // namespace refhist
