// Everything one session knows, shared by the tracker, the rules and the commands.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "agent_host/agent_backend.h"
#include "analysis/frame_namer.h"
#include "analysis/leaks.h"
#include "analysis/managed_objects.h"
#include "events/recorder.h"
#include "history/history.h"
#include "port/debugger_port.h"
#include "probes/family_catalog.h"
#include "session/stop_rules.h"
#include "sites/armory.h"
#include "sites/site_table.h"
#include "sites/tracked_family.h"
#include "symbols/module_map.h"
#include "symbols/unwinder.h"

namespace refhist {

/// How the last process ended, if one did.
struct ProcessEnd {
  bool ended = false;
  bool by_signal = false;
  bool detached = false;
  int status =
      0;  ///< exit status, or the signal's number; after `detached` 1: it may have been killed as well
};

/// The last look at what the program can still reach.
struct ReachScan {
  bool done = false;
  bool at_exit = false;
  std::uint64_t at_event = 0;       ///< events recorded by then
  std::size_t running_threads = 0;  ///< during the look: what only their registers held seems lost
  std::string why_not;              ///< why there is none, or why it is not whole
  ReachByObject objects;
};

struct SessionState {
  std::string families_folder;
  std::optional<FamilyCatalog> catalog;  ///< read at first use, so that a broken file is told when it matters

  ModuleMap modules;
  Unwinder unwinder{modules};
  SiteTable sites;
  History history;
  std::vector<TrackedFamily> families;
  Armory armory;
  Recorder recorder{history, sites, modules, unwinder, families};
  FrameNamer namer{modules, sites, history, families};
  ManagedObjects managed{modules, history, families, namer};
  StopRules rules;
  AgentBackend agent{{modules, sites, families, recorder}};

  ProcessInfo process;
  bool tracer_here = false;
  bool alive = false;  ///< a process is there and planned for
  bool recording = true;
  bool keep_history = false;     ///< a new run does not begin a new history
  bool tell_every_step = false;  ///< long work tells each of its steps
  unsigned runs = 0;
  ProcessEnd end;
  ReachScan scan;
  std::vector<std::string> warnings;  ///< said by every report: what was lost, refused, or is doubtful
  std::uint64_t lost_hits = 0;

  [[nodiscard]] bool tracks_any() const {
    return std::any_of(families.begin(), families.end(), [](const auto& f) { return !f.untracked; });
  }
  /// Names of the families that are tracked now.
  [[nodiscard]] std::vector<std::string> tracked_names() const {
    std::vector<std::string> names;
    for (const TrackedFamily& tracked : families) {
      if (!tracked.untracked) names.push_back(tracked.family.name);
    }
    return names;
  }
  [[nodiscard]] std::string family_name(FamilyId id) const { return families[id.index()].family.name; }
  FamilyCatalog& shipped() {
    if (!catalog) catalog.emplace(families_folder);
    return *catalog;
  }
};

}  // namespace refhist
