// `refhist watch`: every instruction that changes an object's counter.
#include <fmt/core.h>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "reports/findings.h"
#include "reports/history_report.h"

namespace refhist {

namespace {

std::string list_of(SessionState& state, const CounterWatches& watches) {
  if (watches.all().empty()) return "no counter is watched\n";
  std::string text;
  for (const CounterWatches::Watch& watch : watches.all()) {
    text += fmt::format("{}: {}, counter at {:#x}, {} without a probe{}\n", object_title(state, watch.object),
                        state_text(state.history.object(watch.object)), watch.counter,
                        plural(watch.changes, "change"), watch.removed ? "; its watchpoint is gone" : "");
  }
  return text;
}

void delete_all(CommandContext& context) {
  while (!context.watches.all().empty())
    context.watches.remove(context.port, context.watches.all().back().object);
}

}  // namespace

void run_watch(CommandContext& context) {
  const bool removes = context.arguments.has("--delete");
  context.watches.settle(context.port);
  if (context.arguments.words().empty()) {
    if (removes) delete_all(context);
    context.text = list_of(context.state, context.watches);
    return;
  }
  for (const ObjectId id : objects_named(context)) {
    if (!removes) {
      context.watches.add(context.port, id);
      context.text += fmt::format("watching the counter of {}\n", object_title(context.state, id));
    } else if (!context.watches.remove(context.port, id)) {
      fail("{} is not watched: refhist watch lists what is", object_title(context.state, id));
    }
  }
}

}  // namespace refhist
