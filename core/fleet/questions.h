// What the database knows, as JSON: schema refhist-fleet/1, docs/json.md. Text and pages are made of it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fleet/fleet_database.h"

namespace refhist {

class Questions {
 public:
  using Json = nlohmann::ordered_json;

  Questions(FleetDatabase& database, std::string project)
      : database_(database), project_(std::move(project)) {}

  /// `branch`: empty: all. `all`: accepted ones, and those that are gone, as well. The newest `most` of them.
  /// Throws Error.
  Json findings(const std::string& branch, bool all, int most);
  /// Gives each of its findings a `course`: the part of the runs that show it, for the last commits in their
  /// order.
  void add_courses(Json& findings);
  /// The arguments of these are fingerprints or runs as they were shown; the beginning will do when it is of
  /// one only.
  Json show(const std::string& fingerprint);
  Json since(const std::string& fingerprint, const std::string& branch);
  /// Of the last so many commits of each run name.
  Json growth(const std::string& branch, int commits);
  struct RunFilter {
    std::string branch, name, commit;  ///< empty: any
    int last = 30;
  };
  Json runs(const RunFilter& filter);
  Json compare(const std::string& first, const std::string& second);
  /// The bytes of a run's history: a Zstandard frame.
  std::string history(const std::string& run);
  /// Accepts it, or reopens it.
  Json judge(const std::string& fingerprint, bool accepted, const std::string& why);
  /// Those of the fingerprints that the branch's runs have, or that were accepted.
  std::vector<std::string> seen_on(const std::string& branch, const std::vector<std::string>& fingerprints);

 private:
  Json json(const std::string& sql, const std::vector<std::string>& parameters);
  /// A sender may not ask for it.
  const std::string& project_id();
  [[nodiscard]] Json answer() const;
  std::string one_fingerprint(const std::string& begin);
  std::string one_run(const std::string& begin);
  std::string usual_branch();
  std::string branch_of(const std::string& fingerprint);

  FleetDatabase& database_;
  std::string project_;
  std::string project_id_;
};

}  // namespace refhist
