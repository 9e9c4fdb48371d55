// A saved history as a run that can be sent.
#pragma once

#include <string>

#include "fleet/run_facts.h"

namespace refhist {

/// The text of its record; `findings` becomes how many it has. Throws Error.
std::string saved_run_record(const std::string& path, RunFacts facts, std::size_t& findings);

}  // namespace refhist
