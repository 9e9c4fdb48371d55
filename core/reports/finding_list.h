// Findings, each kind of which is listed once.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "reports/findings.h"

namespace refhist {

class FindingList {
 public:
  /// One more of a kind that is listed: only its object is new. False when none has that fingerprint.
  bool add_alike(const std::string& fingerprint, ObjectId object);
  /// Behind the others, or to the one that has its fingerprint.
  void add(ReportedFinding finding);
  std::vector<ReportedFinding> take() { return std::move(all_); }

 private:
  struct Kind {
    std::size_t place;  // in all_
    std::unordered_set<ObjectId> objects;
  };
  void add_object(Kind& kind, ObjectId object);

  std::vector<ReportedFinding> all_;
  std::unordered_map<std::string, Kind> kinds_;  // by fingerprint
};

}  // namespace refhist
