// The put that had no reference to give back, or the store that kept a pointer without one, by what other
// runs of the program have shown of an object's references.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/leaks.h"
#include "explain/known_pairs.h"
#include "explain/put_references.h"
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
  std::string why_not;   ///< empty when there is a suspect
  bool unclear = false;  ///< several places explain it about as well
};

/// Adds what the object shows, if it does.
void learn_from(SessionState& state, LeakFinder& finder, const PutCourse& correct, KnownPairs& known);

/// `known`: what correct objects have shown.
OverPut judge_over_put(SessionState& state, LeakFinder& finder, const PutCourse& course,
                       const FailingPut& failing, const KnownPairs& known);

}  // namespace refhist
