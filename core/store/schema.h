// The tables of a history file. docs/file-format.md says what their columns mean; a change here is a change
// there, and of kFileVersion.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace refhist {

inline constexpr int kFileVersion = 10;            ///< PRAGMA user_version
inline constexpr int kOldestFileVersion = 4;       ///< that is read: it has `events_were_lost` 1 for any loss
inline constexpr int kVersionOfCycles = 6;         ///< has `cycle_members` and `cycle_steps`
inline constexpr int kVersionOfRunners = 9;        ///< families have `counts_unseen` and `runs`
inline constexpr int kVersionOfResults = 10;       ///< sites have `returns_it`
inline constexpr int kApplicationId = 0x72666869;  ///< PRAGMA application_id: "rfhi"
inline constexpr std::size_t kBetweenQuestions =
    4096;  ///< rows read or written before one asks whether to go on
inline constexpr std::string_view kFormat = "refhist history";

/// families.shown
enum class ShownFamily { tracked, untracked, no };

struct Table {
  std::string_view name;
  std::string_view columns;
  int since = kOldestFileVersion;  ///< the first version that has it
};

inline constexpr std::array<Table, 31> kTables{{
    {"meta", "key TEXT PRIMARY KEY, value"},
    {"notes", "id INTEGER PRIMARY KEY, line TEXT"},
    {"modules",
     "id INTEGER PRIMARY KEY, path TEXT, build_id TEXT, interpreter TEXT, position_independent INTEGER, "
     "bias INTEGER, first_address INTEGER, end_address INTEGER"},
    {"roles", "id INTEGER PRIMARY KEY, name TEXT"},
    {"families",
     "id INTEGER PRIMARY KEY, name TEXT, origin TEXT, type TEXT, counter_path TEXT, counter_read INTEGER, "
     "counter_note TEXT, births_note TEXT, allocator INTEGER, by_default INTEGER, shown INTEGER, "
     "born INTEGER, fold TEXT, part_of TEXT, managed TEXT, null_calls INTEGER, unborn_calls INTEGER, "
     "counts_unseen INTEGER, runs TEXT"},
    {"sites",
     "id INTEGER PRIMARY KEY, family INTEGER, role INTEGER, module INTEGER, function TEXT, "
     "file_address INTEGER, address INTEGER, clone INTEGER, inlined INTEGER, inlined_into TEXT, "
     "at_instruction INTEGER, armed INTEGER, in_agent INTEGER, unloaded INTEGER, why_not TEXT, "
     "why_breakpoint TEXT, rides_on INTEGER, hits INTEGER, returns_it INTEGER"},
    {"snapshots", "id INTEGER PRIMARY KEY, name TEXT, moment INTEGER"},
    {"threads", "id INTEGER PRIMARY KEY, tid INTEGER, name TEXT"},
    {"frames", "id INTEGER PRIMARY KEY, module INTEGER, pc INTEGER, exact INTEGER"},
    {"frame_names",
     "id INTEGER PRIMARY KEY, frame INTEGER, function TEXT, file TEXT, line INTEGER, inlined INTEGER"},
    {"lost_frames",
     "id INTEGER PRIMARY KEY, called_frame INTEGER, calling_frame INTEGER, called TEXT, runs TEXT, ways "
     "TEXT, "
     "complete INTEGER"},
    {"stacks", "id INTEGER PRIMARY KEY, parent INTEGER, frame INTEGER, truncated INTEGER"},
    {"objects",
     "id INTEGER PRIMARY KEY, address INTEGER, generation INTEGER, family INTEGER, size INTEGER, "
     "state INTEGER, complete INTEGER, base_known INTEGER, moved_unobserved INTEGER, uncounted INTEGER, "
     "freed INTEGER, count INTEGER, before_seen INTEGER, born INTEGER, birth_origin INTEGER, died INTEGER, "
     "first_event INTEGER, "
     "last_event INTEGER, events INTEGER"},
    {"object_notes", "object INTEGER PRIMARY KEY, note TEXT"},
    {"managed", "object INTEGER PRIMARY KEY, address INTEGER, type TEXT"},
    {"reach",
     "object INTEGER PRIMARY KEY, reach INTEGER, freed INTEGER, holder INTEGER, place TEXT, "
     "held_by_leak INTEGER, holder_object INTEGER, counter_read INTEGER, counter INTEGER"},
    {"cycle_members", "object INTEGER PRIMARY KEY, cycle INTEGER", kVersionOfCycles},
    {"cycle_steps",
     "id INTEGER PRIMARY KEY, object INTEGER, step_object INTEGER, step_begin INTEGER, word INTEGER",
     kVersionOfCycles},
    {"mistakes", "id INTEGER PRIMARY KEY, verdict TEXT, object INTEGER, event INTEGER, why TEXT"},
    {"findings",
     "id INTEGER PRIMARY KEY, verdict TEXT, family INTEGER, object INTEGER, event INTEGER, why TEXT, "
     "fingerprint TEXT, alike INTEGER"},
    {"finding_references", "id INTEGER PRIMARY KEY, finding INTEGER, event INTEGER"},
    {"suspects",
     "id INTEGER PRIMARY KEY, finding INTEGER, what TEXT, confidence TEXT, function TEXT, file TEXT, "
     "line INTEGER, why TEXT"},
    {"origins", "id INTEGER PRIMARY KEY, site INTEGER, thread INTEGER, stack INTEGER, kind INTEGER"},
    {"event_pages", "page INTEGER PRIMARY KEY, blocks BLOB, firsts BLOB, data BLOB"},
    {"folded_events",
     "id INTEGER PRIMARY KEY, object INTEGER, origin INTEGER, times INTEGER, first INTEGER, last INTEGER"},
    {"folded_moments", "id INTEGER PRIMARY KEY, moment INTEGER"},
    {"folded_owners",
     "id INTEGER PRIMARY KEY, family INTEGER, put INTEGER, place TEXT, function TEXT, file TEXT, "
     "line INTEGER, module TEXT, pc INTEGER"},
    {"folded_places",
     "id INTEGER PRIMARY KEY, family INTEGER, made_by TEXT, function TEXT, file TEXT, line INTEGER, "
     "module TEXT, pc INTEGER, objects INTEGER, bytes INTEGER, events INTEGER, other_kinds INTEGER, "
     "peak INTEGER, peak_at INTEGER, peak_bytes INTEGER, peak_bytes_at INTEGER"},
    {"folded_live", "id INTEGER PRIMARY KEY, place INTEGER, moment INTEGER, live INTEGER"},
    {"folded_kinds", "id INTEGER PRIMARY KEY, place INTEGER, objects INTEGER"},
    {"folded_counts", "id INTEGER PRIMARY KEY, kind INTEGER, owner INTEGER, times INTEGER"},
}};

/// Written by `refhist export --format sqlite` only: what the event pages say, a row for each event.
inline constexpr Table kEventRows{
    "events",
    "seq INTEGER PRIMARY KEY, time_ns INTEGER, object INTEGER, role INTEGER, site INTEGER, thread INTEGER, "
    "stack INTEGER, count_before INTEGER, count_after INTEGER, count_after_is INTEGER, unobserved INTEGER, "
    "failed INTEGER, during_death INTEGER"};

}  // namespace refhist
