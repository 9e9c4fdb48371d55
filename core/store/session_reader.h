// Reads a file that SessionWriter wrote, of whose content nothing is trusted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "session/session_state.h"
#include "store/database.h"
#include "symbols/recorded_module.h"

namespace refhist {

class SessionReader {
 public:
  /// Throws Error: not there, no history file, of a newer version, damaged.
  explicit SessionReader(const std::string& path);

  /// Puts what the file holds in the place of the history that `state` has. What was there before (families,
  /// sites, modules) stays behind it for the names. Throws Error, and has done nothing then.
  void open(SessionState& state);

 private:
  void check_identity();
  void check_tables();
  void check_no_programs();
  void read_meta();
  [[nodiscard]] std::int64_t meta(const std::string& key) const;
  [[nodiscard]] std::string meta_text(const std::string& key) const;
  /// The rows of a table in order; throws Error when one is missing, or stands there twice.
  template <class Row>
  void each(std::string_view table, std::string_view columns, Row&& row);

  void read_modules();
  void read_families();
  void read_sites();
  void read_names();
  [[nodiscard]] EventId lost_from() const;
  void read_lost_frames();
  std::vector<Thread> read_threads();
  StackTable read_stacks();
  void check_names(const StackTable& stacks) const;
  EventLog read_events(std::size_t stacks, std::size_t threads);
  void read_objects();
  /// Throws Error when it names none that is there.
  [[nodiscard]] ObjectId known_object(const Statement& row, int column) const;
  void read_folded_events();
  void read_folded_places();
  void read_folded_kinds();
  /// A frame whose function, file, line, module and pc are in five columns from this one on.
  static NamedFrame named_frame(const Statement& row, int column);
  void read_reach();
  void read_cycles();
  void take_over(SessionState& state);

  std::string path_;
  std::int64_t version_ = 0;  // of the file's format
  std::shared_ptr<Database> file_;
  std::uint64_t bytes_left_ = 0;  // that its rows may have: all together are not larger than the file
  std::map<std::string, std::pair<std::int64_t, std::string>> meta_;

  // Where the ids of the file begin in the session.
  std::size_t first_module_ = 0;
  std::size_t first_family_ = 0;
  std::size_t first_site_ = 0;

  struct Placed {
    std::shared_ptr<RecordedModule> module;
    Address bias = 0;
    Address begin = 0;
    Address end = 0;
  };
  std::vector<Placed> modules_;
  std::vector<TrackedFamily> families_;
  std::vector<Site> sites_;
  History history_;
  std::vector<std::pair<ObjectId, ManagedObject>> managed_;
  struct Lost {
    StackFrame inner;
    StackFrame outer;
    LostFrames frames;
  };
  std::vector<Lost> lost_;
  std::vector<Snapshot> snapshots_;
  FoldedPlaces folded_;
  ReachScan scan_;
};

}  // namespace refhist
