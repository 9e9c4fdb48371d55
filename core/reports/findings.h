// All that is wrong, as findings: leaks as they stand, mistakes that were seen happening, unobserved changes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/leaks.h"
#include "history/history.h"
#include "session/session_state.h"

namespace refhist {

/// What the user has said of a finding before.
enum class FindingStatus {
  fresh,       ///< nothing
  known,       ///< it is in the baseline
  suppressed,  ///< a suppression matches
};

/// One finding, with everything that shares its fingerprint.
struct ReportedFinding {
  Verdict verdict = Verdict::leak;
  ObjectId object;  ///< the first of its kind
  EventId event;    ///< the event that was the mistake; invalid for leaks
  std::vector<EventId> references;
  std::vector<Suspect> suspects;
  std::string why;
  std::string fingerprint;      ///< 16 hex digits; the same after recompilation and at other addresses
  std::vector<ObjectId> alike;  ///< all objects of this process with this fingerprint, `object` first
  std::size_t process = 0;      ///< whose object it is, among those of the check
  std::vector<long> pids;       ///< of all processes that have it, where several were looked at
  std::size_t elsewhere = 0;    ///< objects with this fingerprint in the others of them
  FindingStatus status = FindingStatus::fresh;
  std::string suppressed_by;  ///< the suppression: "leak:open_conn"
};

struct FindingFilter {
  std::vector<std::string> families;  ///< globs; empty: all
  bool reachable = false;             ///< reachable objects are leaks as well
  [[nodiscard]] bool wants(const std::string& family) const;
};

/// It is reachable when the program ends, and that is worth a line: see LeakGroup::held.
bool is_held(const SessionState& state, const LeakGroup& group);
/// Who holds it, and what became of the others.
std::string held_text(const SessionState& state, const LeakGroup& group);

/// "process 12", "processes 12, 13 and 5 more"; empty when there was only one.
std::string processes_text(const ReportedFinding& finding);

std::vector<ReportedFinding> collect_findings(SessionState& state, const FindingFilter& filter);

/// "leak of conn born in open_conn (a.c:3)": the same in every run.
std::string finding_title(SessionState& state, const ReportedFinding& finding);
/// Where somebody who mends it looks first: the suspect's call, else where the mistake or the last reference
/// was made, else the birth. Empty when nothing is known.
NamedFrame finding_place(SessionState& state, const ReportedFinding& finding);
/// Born at the same site with the same stack.
bool same_birth(const SessionState& state, ObjectId one, ObjectId other);

/// "json_object 0x5555… (generation 2)", "GObject (GLocalFile) 0x5555…".
std::string object_title(SessionState& state, ObjectId id);
/// "GLocalFile", "Node": what an object, or the one that it manages, really is; empty when that is not known,
/// or no more than its family's name.
std::string dynamic_type(SessionState& state, ObjectId id);
/// "GObject (GLocalFile)", "shared_ptr<Node>": of objects of a few types; else the family alone.
std::string type_title(SessionState& state, FamilyId family, const std::vector<ObjectId>& objects);
/// "Node at 0x5555…" of the user's object that this one manages; empty when it manages none.
std::string managed_text(SessionState& state, ObjectId id);

/// Lines that every report ends with: losses, blind spots, what was not scanned. Empty when there are none.
std::vector<std::string> caveats(SessionState& state);

}  // namespace refhist
