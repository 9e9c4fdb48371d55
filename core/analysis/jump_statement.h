// The statement by which a way leaves that has no code of its own: compilers make none of most `continue`,
// `break`, `goto` and `return`.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "analysis/source_files.h"

namespace refhist {

/// The line has a word that leaves what it stands in: `return`, `continue`, `break`, `goto` or `throw`.
bool has_way_out(std::string_view line);

class JumpStatements {
 public:
  /// The line of a jump that follows on `line` in the source, with nothing but comments and what was not
  /// compiled between: `compiled` has the lines that the code around comes from. Nothing where another
  /// statement follows, or the source is not there.
  std::optional<unsigned> behind(const std::string& file, unsigned line, const std::set<unsigned>& compiled);

 private:
  SourceFiles files_;
};

}  // namespace refhist
