// `refhist save` and `refhist open`.
#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"
#include "base/user_path.h"
#include "commands/command.h"
#include "session/reach_scans.h"
#include "store/session_reader.h"
#include "store/session_writer.h"

namespace refhist {

namespace {

std::string the_file(const CommandContext& context, const std::string& verb) {
  context.arguments.expect_words(1, verb);
  if (context.arguments.words().empty()) fail("usage: refhist {} FILE", verb);
  return user_path(context.arguments.words().front());
}

std::string summary(const SessionState& state) {
  return fmt::format("{} of {}", plural(state.history.event_count(), "event"),
                     plural(state.history.objects().size(), "object"));
}

}  // namespace

std::string save_history(SessionState& state, DebuggerPort& port, const std::string& path) {
  if (state.alive && port.process().state != ProcessState::running) scan_if_alive(state, port);
  const auto written = SessionWriter(state, SessionWriter::Events::packed).write(path);
  state.saved_events = state.history.event_count();
  return fmt::format("saved {} in {} ({:.1f} MiB)\n", summary(state), path,
                     static_cast<double>(written.bytes) / 1048576.0);
}

void run_save(CommandContext& context) {
  const std::string path = the_file(context, "save");
  if (context.state.history.event_count() == 0) fail("there is no history to save: nothing was recorded");
  context.text = save_history(context.state, context.port, path);
}

void run_open(CommandContext& context) {
  SessionState& state = context.state;
  const std::string path = the_file(context, "open");
  if (state.alive)
    fail("process {} is being recorded: end it, or open the file in another debugger", state.process.pid);
  const bool unsaved = !state.opened && state.history.event_count() != state.saved_events;
  if (unsaved && !context.arguments.has("--discard"))
    fail("{} of the last run are not saved: refhist save FILE, or refhist open --discard {}",
         plural(state.history.event_count(), "event"), path);
  SessionReader(path).open(state);
  context.text = fmt::format("opened {}: {}, {}\n", path, state.program.executable, summary(state));
}

}  // namespace refhist
