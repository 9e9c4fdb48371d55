// One finding as the database keeps it: what it is, and one example with stacks and source lines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reports/check.h"
#include "reports/listed_leaks.h"
#include "reports/source_places.h"

namespace refhist {

/// In one line, fit to be shown, and no longer than that many bytes: as the database takes it.
std::string sent_text(std::string_view text, std::size_t most);

/// Makes them for all findings of a check; groups of leaks are found once for each process.
class FindingRecords {
 public:
  FindingRecords(const Check& check, const SourcePlaces& places) : check_(check), places_(places) {}

  /// {"verdict", "family", "title", "place", "why", "lines", "suspects", "example", "sources"}: docs/fleet.md
  nlohmann::ordered_json of(const ReportedFinding& finding);

 private:
  const std::vector<LeakGroup>& groups(std::size_t process);
  std::vector<std::string> lines(const ReportedFinding& finding);
  [[nodiscard]] nlohmann::ordered_json sources(const ReportedFinding& finding, const NamedFrame& place) const;

  const Check& check_;
  const SourcePlaces& places_;
  std::vector<std::vector<LeakGroup>> groups_;  // by process, as far as they were asked for
};

}  // namespace refhist
