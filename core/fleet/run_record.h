// One run as a JSON text: what is spooled and sent. Schema refhist-fleet-run/1, docs/fleet.md.
#pragma once

#include <nlohmann/json.hpp>

#include "fleet/run_facts.h"
#include "reports/check.h"
#include "reports/source_places.h"

namespace refhist {

inline constexpr const char* kRunRecordSchema = "refhist-fleet-run/1";

/// What is suppressed is left out.
nlohmann::ordered_json run_record(const Check& check, const RunFacts& facts, const SourcePlaces& places);

}  // namespace refhist
