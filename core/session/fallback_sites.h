// Sites of the agent that are breakpoints for a while, because a thread of the user's stands at their
// beginning and its next steps must show the program's own instructions.
//
// A thread that runs those instructions may be anywhere in them, and a debugger does not stop the others for
// our breakpoints. So a site goes back to the agent only once each such thread has provably left the call.
#pragma once

#include <map>

#include "base/types.h"
#include "events/program_access.h"

namespace refhist {

class FallbackSites {
 public:
  /// No thread runs a call of it, as far as is known.
  void give(SiteId site) { sites_[site]; }
  /// The thread runs the call that has this stack pointer at its beginning.
  void enter(SiteId site, long tid, Address sp) { sites_[site][tid] = sp; }
  [[nodiscard]] bool contains(SiteId site) const { return sites_.contains(site); }
  void remove(SiteId site) { sites_.erase(site); }
  void clear() { sites_.clear(); }
  [[nodiscard]] std::vector<SiteId> sites() const;

  /// The thread makes another call: it has left the one before.
  void leave(SiteId site, long tid);
  /// Has every thread left?
  bool empty(SiteId site, const ProgramAccess& access, long pid);

 private:
  static bool has_left(const ProgramAccess& access, long pid, long tid, Address sp);

  std::map<SiteId, std::map<long, Address>> sites_;
};

}  // namespace refhist
