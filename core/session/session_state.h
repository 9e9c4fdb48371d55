// Everything one session knows, shared by the tracker, the rules and the commands.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_host/agent_backend.h"
#include "analysis/folded_places.h"
#include "analysis/frame_namer.h"
#include "analysis/leaks.h"
#include "analysis/managed_objects.h"
#include "base/open_file.h"
#include "events/recorder.h"
#include "families/family_catalog.h"
#include "history/history.h"
#include "kernel/kernel.h"
#include "port/debugger_port.h"
#include "session/long_work.h"
#include "session/quarantine.h"
#include "session/stop_rules.h"
#include "sites/breakpoints.h"
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
  bool replaced = false;  ///< it executed another program
  /// The program has come to its end, and how is known.
  [[nodiscard]] bool by_itself() const { return ended && !detached && !replaced; }
};

/// The program that the history is of.
struct ProgramIdentity {
  std::string executable;
  std::vector<std::string> arguments;  ///< argv, the program's name first; empty when unknown
  long pid = 0;
  std::string folder = {};                    ///< its working directory when it began; empty when unknown
  std::vector<std::string> environment = {};  ///< "NAME=VALUE" each, as it began
  std::string input = {};                     ///< file that its standard input was; empty when it was none
};

/// Whose histories are kept whole.
enum class Keep : std::uint8_t {
  all,
  live,     ///< those that died clean become totals, where another one has their address
  suspect,  ///< and of those that live and nothing is wrong with, early events are only counted
};

/// A moment of the history that the user has marked.
struct Snapshot {
  std::string name;
  EventId moment;  ///< the first event that was still to come
};

/// Where the history comes from, when it was not recorded here.
struct OpenedFile {
  std::string path;
  std::int64_t saved_at = 0;       ///< seconds since 1970
  bool was_alive = false;          ///< the program had not ended then
  std::vector<std::string> notes;  ///< what every report of it ends with
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
  Breakpoints breakpoints;
  Recorder recorder{history, sites, modules, unwinder, families};
  FrameNamer namer{modules, sites, history, families};
  ManagedObjects managed{modules, history, families, namer};
  StopRules rules;
  Quarantine quarantine;
  AgentBackend agent{{modules, sites, families, recorder}};

  std::unique_ptr<Kernel> kernel;  ///< what is debugged, where that is no program
  std::string no_kernel;           ///< why the kernel that the debugger has a file of is not followed
  ProcessInfo process;
  ProgramIdentity program;
  std::optional<OpenedFile> opened;
  std::string cut_short;            ///< why a session that was to run to its end did not; empty when it did
  std::vector<std::string> orders;  ///< words for `refhist track`, one entry for each that was given
  bool tracer_here = false;
  std::unique_ptr<OpenFile>
      halted;          ///< the process (pidfd), where a SIGSTOP of ours is on its way to a thread of it
  bool alive = false;  ///< a process is there and planned for
  bool recording = true;
  bool keep_history = false;  ///< a new run does not begin a new history
  Keep keep = Keep::all;
  std::uint64_t memory_limit = 0;  ///< bytes; 0: none
  bool over_limit = false;         ///< what is left cannot be folded
  FoldedPlaces folded;
  std::string autosave;            ///< file that the history is saved in when the process ends; empty: none
  std::uint64_t saved_events = 0;  ///< of the history, when it was saved last
  bool scan_at_crash = false;      ///< and save when the process has ended, instead of at the crash
  bool tell_every_step = false;    ///< long work tells each of its steps
  bool answers_in_json = false;    ///< the command that runs does
  [[nodiscard]] Telling telling() const {
    if (answers_in_json) return Telling::nothing;
    return tell_every_step ? Telling::every_step : Telling::seldom;
  }
  unsigned runs = 0;
  ProcessEnd end;
  ReachScan scan;
  std::vector<ConfirmedPlace> confirmed;  ///< by refhist explain
  std::vector<Snapshot> snapshots;
  std::vector<std::string> warnings;  ///< said by every report: what was lost, refused, or is doubtful
  std::uint64_t lost_hits = 0;        ///< that no event was made of
  /// One more of them.
  void lose_hit() {
    ++lost_hits;
    history.note_lost();
  }
  /// Events that were not recorded, as far as that is known.
  [[nodiscard]] std::uint64_t lost_events() const {
    return lost_hits + agent.lost() + agent.damaged().records;
  }
  std::uint64_t forks = 0;              ///< calls, whose children this session does not follow
  std::uint64_t followed_children = 0;  ///< those of them that other sessions follow

  /// The family belongs to the history that the reports show: the one recorded here, or the file's.
  [[nodiscard]] bool shows(const TrackedFamily& tracked) const {
    return opened ? tracked.from_file == FromFile::tracked_there ||
                        tracked.from_file == FromFile::untracked_there
                  : tracked.from_file == FromFile::no;
  }
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
  /// Bytes that the history takes here.
  [[nodiscard]] std::size_t memory() const {
    return history.bytes() + folded.bytes() + recorder.allocations().memory();
  }
  [[nodiscard]] LeakFinder leak_finder() {
    return {history, sites, families, namer, folded, managed, confirmed};
  }
  [[nodiscard]] std::string family_name(FamilyId id) const { return families[id.index()].family.name; }
  FamilyCatalog& shipped() {
    if (!catalog) catalog.emplace(families_folder);
    return *catalog;
  }
};

}  // namespace refhist
