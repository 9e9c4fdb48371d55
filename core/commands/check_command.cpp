// `refhist check` and `refhist export`: the findings for people and for programs.
#include <fmt/core.h>

#include <optional>

#include "base/at_prompt.h"
#include "base/error.h"
#include "base/replaced_file.h"
#include "base/text.h"
#include "base/user_path.h"
#include "commands/command.h"
#include "reports/check.h"
#include "reports/check_report.h"
#include "reports/fold_notes.h"
#include "reports/folded_report.h"
#include "reports/html_report.h"
#include "reports/json_report.h"
#include "reports/junit_report.h"
#include "reports/sarif_report.h"
#include "reports/verdict_list.h"
#include "session/reach_scans.h"
#include "store/session_writer.h"

namespace refhist {

namespace {

CheckOptions check_options(const Arguments& arguments) {
  const auto file = [&](const char* option) {
    const std::string path = arguments.value(option);
    return path.empty() ? path : user_path(path);
  };
  CheckOptions options{{},
                       finding_filter(arguments),
                       file("--suppressions"),
                       file("--baseline"),
                       arguments.has("--update-baseline")};
  try {
    options.fatal = verdicts_of(arguments.value("--fail-on", "leak,imbalance"));
  } catch (const Error& error) {
    fail("--fail-on: {}", error.what());
  }
  if (options.update_baseline && options.baseline.empty())
    fail("--update-baseline needs --baseline FILE: the file to write the findings to");
  return options;
}

std::string source_root(const Arguments& arguments) {
  return user_path(arguments.value("--source-root", "."));
}

/// What an opened history names may be any file of the reader's: only the folder that the user names is read.
ReadSources sources_to_read(const CommandContext& context) {
  if (!context.state.opened) return ReadSources::all;
  return context.arguments.has("--source-root") ? ReadSources::below_root : ReadSources::none;
}

/// The text of a report; nothing for a format that is none.
std::optional<std::string> report_text(CommandContext& context, const std::string& format) {
  SessionState& state = context.state;
  if (format == "folded") {
    const std::string of = context.arguments.value("--of", "leaked");
    const auto what = folded_from_name(of);
    if (!what) fail("--of must be leaked, live or events, not {}", of);
    return folded_report(state, finding_filter(context.arguments), *what);
  }
  const bool known = format == "json" || format == "junit" || format == "sarif" || format == "html";
  if (!known) return std::nullopt;
  const Check check = check_session(state, check_options(context.arguments));
  const SourcePlaces places(source_root(context.arguments), sources_to_read(context));
  if (format == "json") return session_json(check);
  if (format == "html") return html_report(check, places);
  return format == "junit" ? junit_report(check, places) : sarif_report(check, places);
}

}  // namespace

void run_export(CommandContext& context) {
  SessionState& state = context.state;
  const auto& words = context.arguments.words();
  context.arguments.expect_words(1, "export");
  if (words.empty()) fail("usage: refhist export FILE --format FORMAT");
  const std::string path = user_path(words.front());
  const std::string format = context.arguments.value("--format");
  if (state.history.event_count() == 0) fail("there is no history to export: nothing was recorded");
  scan_if_alive(state, context.port);
  if (format == "sqlite") {
    SessionWriter(state, SessionWriter::Events::and_rows).write(path);
  } else if (const auto text = report_text(context, format)) {
    replace_file(path, *text);
  } else {
    fail("--format must be json, junit, sarif, html, folded or sqlite, not {}",
         format.empty() ? "empty" : format);
  }
  context.text = fmt::format("exported {} of {} as {} to {}\n", plural(state.history.event_count(), "event"),
                             plural(state.history.objects().size(), "object"), format, path);
  for (const std::string& line : fold_notes(state)) context.text += fmt::format("note: {}\n", line);
}

void run_check(CommandContext& context) {
  context.arguments.expect_words(0, "check");
  const CheckOptions options = check_options(context.arguments);
  scan_if_alive(context.state, context.port);
  const Check check = check_session(context.state, options);
  context.text = context.arguments.has("--json") ? check_json(check) : check_report(check);
  if (context.arguments.has("--stay")) return;
  if (at_prompt() && !context.arguments.has("--quit")) {
    if (!context.arguments.has("--json"))
      context.text +=
          fmt::format("the debugger keeps running; in a script it would exit with {}\n", check.status());
    return;
  }
  context.quit_status = check.status();
}

}  // namespace refhist
