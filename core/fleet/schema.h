// The schema of the database, by steps: core/fleet/schema.
#pragma once

#include <string>
#include <vector>

#include "fleet/fleet_database.h"

namespace refhist {

struct SchemaStep {
  int version = 0;
  std::string title;
  std::string sql;
};

/// Those that this refhist knows, from 1 on.
std::vector<SchemaStep> schema_steps();

/// Takes the database from whatever step it is at to `last` (0: the newest). Returns a line for each step
/// that was made. Throws Error: somebody newer has been there, or it may not.
std::vector<std::string> migrate(FleetDatabase& database, int last);

/// Throws Error when the database's schema is older or newer than what this refhist asks about.
void expect_schema(FleetDatabase& database);

}  // namespace refhist
