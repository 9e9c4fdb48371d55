// What refhist-run has to do with the database of many runs: refhist-fleet does it.
#pragma once

#include <string>
#include <vector>

#include "reports/check.h"
#include "runner/run_options.h"

namespace refhist {

/// Those of the fingerprints that the branch of --new-against has. Throws Error.
std::vector<std::string> known_on_branch(const RunOptions& options,
                                         const std::vector<std::string>& fingerprints);

/// Sends the run, or leaves it in the spool. `history`: the session's file. Returns what is to be told: lines
/// that matter even to whoever wants no report begin with "not sent". Throws nothing: the run itself is over.
std::string send_run(const Check& check, const RunOptions& options, const std::string& debugger,
                     const std::string& history);

}  // namespace refhist
