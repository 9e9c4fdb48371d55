// Findings that were accepted once, by their fingerprints: only new ones fail a check.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/findings.h"

namespace refhist {

class Baseline {
 public:
  Baseline() = default;
  /// Throws Error: not there, no baseline, of a newer version.
  static Baseline read(const std::string& path);
  struct Entry {
    Verdict verdict = Verdict::leak;
    std::string what;
  };
  /// The file with these findings, by fingerprint, and nothing else; an older one is replaced as a whole.
  /// Throws Error.
  static void write(const std::string& path, const std::map<std::string, Entry>& findings);

  [[nodiscard]] bool knows(const std::string& fingerprint) const { return known_.contains(fingerprint); }
  /// "leak of json_object born in open (a.c:3)" for each that none of the findings is.
  [[nodiscard]] std::vector<std::string> gone(const std::vector<ReportedFinding>& findings) const;

 private:
  std::map<std::string, std::string> known_;  // fingerprint -> what it is
};

}  // namespace refhist
