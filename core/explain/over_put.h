// The put that had no reference to give back, or the store that kept a pointer without one, by what other
// runs of the program have shown of an object's references.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/leaks.h"
#include "explain/put_match.h"
#include "explain/put_runs.h"
#include "session/session_state.h"

namespace refhist {

/// A reference, as the user is told of it.
struct TracedReference {
  std::string taken;   ///< "#48 get in compile (shaders.cpp:61)"; empty: nothing had taken it
  std::string stored;  ///< "material+16", and who stored it there; empty: in no memory
  std::string given;   ///< "#57 put in ~Material (shaders.cpp:125)"; empty: not known
};

struct OverPut {
  std::optional<Suspect> suspect;
  std::vector<TracedReference> references;
  std::string why_not;  ///< empty when there is a suspect
};

/// The put that was one too many in the run that is explained.
struct FailingPut {
  CallStack stack;  ///< empty where no put was seen
  bool usual = false;
  Held held = Held::memory;
};
FailingPut failing_put(SessionState& state, LeakFinder& finder, EventId put);

OverPut judge_over_put(SessionState& state, LeakFinder& finder, const PutCourse& course,
                       const FailingPut& failing);

}  // namespace refhist
