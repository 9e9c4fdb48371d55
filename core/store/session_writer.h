// Writes all that a session knows into one SQLite file.
#pragma once

#include <string>

#include "session/session_state.h"
#include "store/database.h"
#include "store/schema.h"

namespace refhist {

class SessionWriter {
 public:
  enum class Events {
    packed,    ///< as pages, compressed: what `refhist open` reads
    and_rows,  ///< and as rows that any SQL tool reads
  };
  SessionWriter(SessionState& state, Events events) : state_(state), events_(events) {}

  struct Written {
    std::uint64_t bytes = 0;  ///< of the file
  };
  /// A file that is there already is replaced as a whole, at the very end, or stays as it was. Throws Error;
  /// Interrupted when the user stops it.
  Written write(const std::string& path);

 private:
  [[nodiscard]] ShownFamily shown(const TrackedFamily& tracked) const;
  void write_tables(Database& file);
  void write_meta(Database& file);
  void write_program(Database& file);
  void write_families(Database& file);
  void write_sites(Database& file);
  void write_stacks(Database& file);
  void write_names(Database& file);
  void write_lost_frames(Database& file);
  void write_objects(Database& file);
  void write_what_is_known(Database& file);
  void write_reach(Database& file);
  void write_findings(Database& file);
  void write_events(Database& file);
  void write_folded(Database& file);
  void write_folded_places(Database& file);
  void write_event_rows(Database& file);

  SessionState& state_;
  Events events_;
};

}  // namespace refhist
