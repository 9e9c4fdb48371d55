// Sends runs, and what waits in the spool.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fleet/fleet_database.h"
#include "fleet/spool.h"

namespace refhist {

struct SentRun {
  std::string run;                   ///< its id
  bool already = false;              ///< it had been sent before
  std::size_t fresh = 0;             ///< findings that are new to the project
  std::vector<std::string> refused;  ///< rows that the database did not take, and why
};

class RunSender {
 public:
  explicit RunSender(FleetDatabase& database) : database_(database) {}

  /// One transaction. `record`: run_record's; `history`: a file of Spool, or empty. Throws DatabaseError.
  SentRun send(const nlohmann::ordered_json& record, const std::string& history);
  /// Counts what was sent into the answers. Throws DatabaseError.
  void fold();

 private:
  SentRun send_rows(const nlohmann::ordered_json& record);
  void send_history(const std::string& run, const nlohmann::ordered_json& header, const std::string& path);

  FleetDatabase& database_;
};

struct SpoolDelivery {
  std::vector<std::string> told;  ///< lines that say what became of the runs
  bool refused = false;           ///< the database does not want one of them, now or later
};

/// Sends this record of the spool and then, where nobody else does, what others have left there. Throws
/// DatabaseError: the record stays.
SpoolDelivery send_spooled(FleetDatabase& database, Spool& spool, const std::string& record);

}  // namespace refhist
