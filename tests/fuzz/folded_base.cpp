// Writes a good history file in which objects and events have been folded: folded_base FILE.
#include "session/history_folder.h"
#include "store/session_writer.h"
#include "support/made_up_session.h"

int main(int argc, char** argv) {
  using namespace refhist;
  if (argc != 2) return 2;
  MadeUpSession session(MadeUpSession::Shape{12, 3, 40});
  SessionState& state = session.state;
  session.fill(1500, 12);
  state.snapshots.push_back(Snapshot{"one", EventId(state.history.event_count())});
  state.history.add_finding(
      Finding{Verdict::over_put, ObjectId(3U), state.history.object(ObjectId(3U)).last_event, "made up"});
  session.fill(1500, 12);
  state.keep = Keep::suspect;
  HistoryFolder(state).apply_options();
  session.fill(500, 12);
  SessionWriter(state, SessionWriter::Events::packed).write(argv[1]);
  return 0;
}
