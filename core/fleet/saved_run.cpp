#include "fleet/saved_run.h"

#include "base/user_path.h"
#include "fleet/run_record.h"
#include "reports/check.h"
#include "reports/verdict_list.h"
#include "session/session_state.h"
#include "store/session_reader.h"

namespace refhist {

std::string saved_run_record(const std::string& path, RunFacts facts, std::size_t& findings) {
  SessionState state;
  SessionReader(path).open(state);
  CheckOptions options;
  options.fatal = verdicts_of("leak,imbalance");
  options.allow_unarmed = true;
  const Check check = check_session(state, options);
  findings = check.findings.size();
  facts.debugger = "unknown";  // the file does not tell
  const SourcePlaces places(user_path("."), ReadSources::all);
  return run_record(check, facts, places)
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace refhist
