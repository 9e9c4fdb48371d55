#include "fleet/schema.h"

#include <fmt/core.h>

#include <cstdlib>

#include "base/text.h"
#include "base/version.h"

extern "C" const char refhist_embedded_schema[];
extern "C" const char refhist_embedded_schema_end[];

namespace refhist {

namespace {

constexpr std::string_view kMark = "-- schema ";

int version_in(FleetDatabase& database) {
  if (database.value("SELECT to_regclass('refhist.schema_version')").empty()) return 0;
  return std::atoi(database.value("SELECT max(version) FROM refhist.schema_version").c_str());
}

[[noreturn]] void fail_newer(int version, int newest) {
  fail("the database has schema {}, and this refhist knows 1 to {}: install the newer refhist that made it",
       version, newest);
}

}  // namespace

std::vector<SchemaStep> schema_steps() {
  std::vector<SchemaStep> steps;
  const std::string all(refhist_embedded_schema, refhist_embedded_schema_end);
  for (const std::string& line : split(all, '\n')) {
    if (line.starts_with(kMark)) {
      const std::size_t colon = line.find(": ");
      steps.push_back({std::atoi(line.c_str() + kMark.size()), line.substr(colon + 2), {}});
    }
    steps.back().sql += line + "\n";
  }
  return steps;
}

std::vector<std::string> migrate(FleetDatabase& database, int last) {
  const std::vector<SchemaStep> steps = schema_steps();
  std::vector<std::string> told;
  database.run("BEGIN; SELECT pg_advisory_xact_lock(7237, 0)");
  const int version = version_in(database);
  if (version > steps.back().version) fail_newer(version, steps.back().version);
  for (const SchemaStep& step : steps) {
    if (step.version <= version || (last != 0 && step.version > last)) continue;
    database.run(step.sql);
    database.ask("INSERT INTO refhist.schema_version (version, refhist) VALUES ($1, $2)",
                 {std::to_string(step.version), refhist::version()});
    told.push_back(fmt::format("schema {}: {}", step.version, step.title));
  }
  database.run("COMMIT");
  return told;
}

void expect_schema(FleetDatabase& database) {
  const int version = version_in(database);
  const int newest = schema_steps().back().version;
  if (version > newest) fail_newer(version, newest);
  if (version < newest)
    fail("the database has schema {}, and this refhist asks about {}: its owner runs refhist fleet migrate",
         version, newest);
}

}  // namespace refhist
