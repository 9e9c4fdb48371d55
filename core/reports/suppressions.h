// Findings that the user does not want to hear of, in the form of LeakSanitizer's files: `leak:pattern`.
#pragma once

#include <string>
#include <vector>

#include "reports/findings.h"

namespace refhist {

class Suppressions {
 public:
  Suppressions() = default;
  /// One `VERDICT:PATTERN` a line, `#` begins a comment. VERDICT is a verdict, `imbalance` or `*`; PATTERN is
  /// part of the name of a function, source file or module in the stack of the birth or of a reference, `*`
  /// is any run of characters, `^` and `$` are its beginning and end. Throws Error with the line.
  static Suppressions read(const std::string& path);

  /// The line that suppresses the finding; empty when none does. Of several objects each must match.
  std::string match(SessionState& state, const ReportedFinding& finding);
  /// "leak:foo (file:3)" for each that has matched nothing.
  [[nodiscard]] std::vector<std::string> unused() const;

 private:
  struct Line {
    std::vector<Verdict> verdicts;
    std::string glob;
    std::string text;
    std::string place;
    bool used = false;
  };
  static Line parse(const std::string& text, const std::string& place);
  static bool matches(SessionState& state, const Line& line, const ReportedFinding& finding, ObjectId object);
  static bool names(SessionState& state, const Line& line, EventId event);

  std::vector<Line> lines_;
};

}  // namespace refhist
