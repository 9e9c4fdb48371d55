#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "base/user_path.h"
#include "commands/auto_track.h"
#include "commands/command.h"
#include "commands/slab_track.h"
#include "families/family_file.h"

namespace refhist {

namespace {

constexpr const char* kAuto = "auto";
constexpr std::size_t kMostLines = 5;  // families of one command that have a line each
constexpr std::size_t kNamedFamilies = 3;

struct RoleOption {
  const char* option;
  Role role;
};
constexpr RoleOption kRoleOptions[] = {{"--get", Role::get},     {"--try-get", Role::try_get},
                                       {"--put", Role::put},     {"--init", Role::init},
                                       {"--alloc", Role::alloc}, {"--free", Role::free}};

/// "conn" of conn_get and conn_put, "net::Conn" of net::Conn::addref and net::Conn::release.
std::string common_prefix(const std::vector<ProbeSpec>& probes) {
  std::string prefix = probes.front().function;
  for (const ProbeSpec& probe : probes) {
    const auto [mine, theirs] =
        std::mismatch(prefix.begin(), prefix.end(), probe.function.begin(), probe.function.end());
    prefix.erase(mine, prefix.end());
  }
  while (!prefix.empty() && (prefix.back() == '_' || prefix.back() == ':' || prefix.back() == '*'))
    prefix.pop_back();
  return prefix.empty() ? probes.front().function : prefix;
}

ProbeSpec typed_probe(Role role, const std::string& function, const Arguments& arguments) {
  ProbeSpec probe;
  probe.role = role;
  probe.function = function;
  probe.origin = "command line";
  if (role == Role::init || role == Role::alloc) {
    probe.object.from = ObjectSource::From::result;
  } else if (arguments.has("--object")) {
    probe.object = parse_object_source(arguments.value("--object"));
  }
  if (role == Role::try_get) probe.success = Success::nonzero;
  return probe;
}

Family typed_family(const Arguments& arguments) {
  Family family;
  family.origin = "command line";
  for (const RoleOption& option : kRoleOptions) {
    for (const std::string& functions : arguments.all(option.option)) {
      for (const std::string& function : split(functions, ',')) {
        family.probes.push_back(typed_probe(option.role, function, arguments));
      }
    }
  }
  family.name = arguments.value("--name", common_prefix(family.probes));
  family.counter.path = arguments.value("--count");
  family.counter.type = arguments.value("--type");
  if (arguments.has("--count-offset")) {
    const std::int64_t offset = arguments.number("--count-offset", 0);
    if (offset < 0) fail("--count-offset must be 0 or more, not {}", offset);
    family.counter.offset = static_cast<std::uint64_t>(offset);
  }
  const std::int64_t size = arguments.number("--count-size", 4);
  if (size != 1 && size != 2 && size != 4 && size != 8)
    fail("--count-size must be 1, 2, 4 or 8, not {}", size);
  family.counter.size = static_cast<std::uint32_t>(size);
  family.born = arguments.number("--born", 1);
  family.born_given = arguments.has("--born");
  const bool counted =
      family.has_role(Role::get) || family.has_role(Role::put) || family.has_role(Role::try_get);
  // What counts by hand is found by the counter.
  if (!counted && (!family.has_role(Role::init) || family.counter.path.empty())) {
    fail("a family needs a get or a put, or a birth and the counter: refhist track --get FN --put FN");
  }
  return family;
}

void set_recording(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  RecordingOptions& options = context.state.recorder.options();
  if (arguments.has("--stacks")) {
    const std::string stacks = arguments.value("--stacks");
    if (stacks != "full" && stacks != "none") fail("--stacks must be full or none, not {}", stacks);
    options.stacks = stacks == "full";
  }
  if (arguments.has("--backend")) {
    const std::string backend = arguments.value("--backend");
    if (backend == "auto") {
      options.backend = Backend::automatic;
    } else if (backend == "breakpoint") {
      options.backend = Backend::breakpoint;
    } else {
      fail("--backend must be auto or breakpoint, not {}", backend);
    }
  }
  for (const char* setting : {"keep", "memory"}) {
    const std::string option = std::string("--") + setting;
    if (arguments.has(option)) apply_setting(context.state, setting, arguments.value(option));
  }
  for (const std::string& glob : arguments.all("--exclude")) options.excluded.push_back(glob);
  context.state.recorder.modules_changed();
  context.state.agent.forget_cached_calls();
}

}  // namespace

namespace {

/// The same order for another debugger, which stands in another folder.
std::string order_of(const Arguments& arguments) {
  std::string order;
  for (const std::string& word : arguments.words()) order += quoted_word(word) + " ";
  for (const OptionSpec& option : find_command("track")->options) {
    for (const std::string& value : arguments.all(option.name)) {
      const bool path = option.name == "--probes";
      order += option.name + " " + quoted_word(path ? user_path(value) : value) + " ";
    }
  }
  return order;
}

std::string tracked_line(const CommandContext& context, const std::string& what, std::size_t armed) {
  return context.state.alive ? fmt::format("tracking {}: {} armed\n", what, plural(armed, "site"))
                             : fmt::format("tracking {} from the next run on\n", what);
}

/// Notes that several families share stand once, with the first of their names.
std::string shared_notes(const CommandContext& context, const std::vector<Tracker::Tracked>& all) {
  std::vector<std::pair<std::string, std::vector<std::string>>> shared;
  for (const Tracker::Tracked& tracked : all) {
    for (const std::string& note : tracked.notes) {
      const auto known =
          std::find_if(shared.begin(), shared.end(), [&](const auto& one) { return one.first == note; });
      const std::string name = context.state.family_name(tracked.family);
      if (known == shared.end()) {
        shared.push_back({note, {name}});
      } else {
        known->second.push_back(name);
      }
    }
  }
  std::string text;
  for (const auto& [note, names] : shared)
    text += names.size() == all.size() ? fmt::format("  each of them: {}\n", note)
                                       : fmt::format("  {}: {}\n", some_of(names, kNamedFamilies), note);
  return text;
}

/// A group such as glib has dozens of families: one line has their counts.
std::string tracked_text(const CommandContext& context, const Arguments& arguments,
                         const std::vector<Tracker::Tracked>& all) {
  std::string text;
  if (all.size() <= kMostLines) {
    for (const Tracker::Tracked& tracked : all) text += tracked_text(context, tracked);
    return text;
  }
  std::size_t armed = 0;
  for (const Tracker::Tracked& tracked : all) armed += tracked.armed;
  std::vector<std::string> from = arguments.words();
  std::erase(from, kAuto);
  for (const std::string& file : arguments.all("--probes")) from.push_back(file);
  const std::string what = fmt::format("{} families of {}", all.size(), join(from, ", "));
  return tracked_line(context, what, armed) + shared_notes(context, all);
}

}  // namespace

std::string tracked_text(const CommandContext& context, const Tracker::Tracked& tracked) {
  std::string text = tracked_line(context, context.state.family_name(tracked.family), tracked.armed);
  for (const std::string& note : tracked.notes) text += "  " + note + "\n";
  return text;
}

namespace {
/// What is followed, the first time that something is tracked in it.
std::string kernel_text(const CommandContext& context) {
  if (!context.state.kernel) return {};
  std::string text = context.state.kernel->title() + "\n";
  for (const std::string& note : context.state.kernel->notes(context.port)) text += "  " + note + "\n";
  return text;
}
/// Another file, or a command before, has tracked the same shipped family.
bool is_there(const SessionState& state, const std::vector<Family>& families, const Family& family) {
  const auto same = [&](const Family& other) {
    return other.name == family.name && other.origin == family.origin;
  };
  return std::any_of(families.begin(), families.end(), same) ||
         std::any_of(state.families.begin(), state.families.end(), [&](const TrackedFamily& tracked) {
           return !tracked.untracked && same(tracked.family);
         });
}

}  // namespace

void run_track(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  std::vector<Family> families;
  const bool typed = std::any_of(std::begin(kRoleOptions), std::end(kRoleOptions),
                                 [&](const RoleOption& option) { return arguments.has(option.option); });
  if (typed) families.push_back(typed_family(arguments));
  for (const std::string& file : arguments.all("--probes")) {
    for (Family& family : read_family_file(file)) families.push_back(std::move(family));
  }
  bool automatic = false;
  bool slabs = false;
  for (const std::string& word : arguments.words()) {
    automatic = automatic || word == kAuto;
    slabs = slabs || names_slab_caches(word);
    if (word == kAuto || names_slab_caches(word)) continue;
    std::vector<Family> found = context.state.shipped().find(word);
    const auto there = [&](const Family& family) { return is_there(context.state, families, family); };
    if (!std::all_of(found.begin(), found.end(), there)) std::erase_if(found, there);
    for (Family& family : found) families.push_back(std::move(family));
  }
  const auto is_recording = [&](const char* option) { return arguments.has(option); };
  const auto recording = {"--stacks", "--exclude", "--backend", "--keep", "--memory"};
  const bool only_options = std::any_of(recording.begin(), recording.end(), is_recording);
  if (families.empty() && !only_options && !automatic && !slabs) {
    context.text =
        "track what? One of these families, a whole group, auto, --get FN --put FN, or --probes FILE\n\n" +
        context.state.shipped().listing();
    return;
  }
  const ProcessInfo process = context.port.process();
  if (process.state == ProcessState::running) fail("the program is running: interrupt it first, then track");
  if (process.state == ProcessState::core) fail("a core file produces no events: track needs a live process");
  set_recording(context);
  if (process.state == ProcessState::stopped && !context.state.alive) {
    context.tracker.begin_late(context.port);
    context.text += kernel_text(context);
  }
  for (const std::string& word : arguments.words()) {
    if (!names_slab_caches(word)) continue;
    for (Family& family : slab_families(context, word)) families.push_back(std::move(family));
  }
  std::string notes;
  std::vector<Tracker::Tracked> all;
  for (Family& family : families) {
    try {
      all.push_back(context.tracker.track(context.port, std::move(family)));
    } catch (const Error& error) {
      if (families.size() == 1) throw;
      notes += fmt::format("  not tracked: {}\n", error.what());
    }
  }
  context.text += tracked_text(context, arguments, all);
  if (automatic) context.text += track_auto(context);
  context.text += notes;
  std::vector<std::string>& orders = context.state.orders;
  const std::string order = order_of(arguments);
  if (std::find(orders.begin(), orders.end(), order) == orders.end()) orders.push_back(order);
}

namespace {

/// The tracked families that a word of `untrack` stands for. Throws Error with the nearest name.
std::vector<FamilyId> tracked_as(CommandContext& context, const std::string& word) {
  SessionState& state = context.state;
  std::vector<std::string> wanted{word};
  const std::vector<std::string> shipped = state.shipped().names();
  if (std::find(shipped.begin(), shipped.end(), word) != shipped.end()) {
    for (const Family& family : state.shipped().find(word)) wanted.push_back(family.name);
  }
  std::vector<FamilyId> found;
  for (std::size_t i = 0; i < state.families.size(); ++i) {
    const TrackedFamily& tracked = state.families[i];
    const bool meant = std::any_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
      return name == tracked.family.name || glob_match(name, tracked.family.name);
    });
    if (!tracked.untracked && meant) found.emplace_back(i);
  }
  if (found.empty()) fail("{} is not tracked{}", word, suggestion(word, state.tracked_names()));
  return found;
}

}  // namespace

void run_untrack(CommandContext& context) {
  const Arguments& arguments = context.arguments;
  std::vector<std::string> words = arguments.words();
  if (arguments.has("--all")) {
    arguments.expect_words(0, "untrack --all");
    if (!context.state.tracks_any()) fail("nothing is tracked");
    words = {"*"};
    context.state.orders.clear();
  }
  if (words.empty()) fail("usage: refhist untrack FAMILY, or --all; refhist status lists the families");
  if (context.port.process().state == ProcessState::running)
    fail("the program is running: interrupt it first");
  std::vector<FamilyId> families;  // all of them, before the first is touched
  for (const std::string& word : words) {
    for (const FamilyId id : tracked_as(context, word)) {
      if (std::find(families.begin(), families.end(), id) == families.end()) families.push_back(id);
    }
  }
  for (const std::string& word : words)
    std::erase_if(context.state.orders,
                  [&](const std::string& order) { return trim(order) == quoted_word(word); });
  for (const FamilyId id : families) {
    context.tracker.untrack(context.port, id);
    std::size_t kept = 0;
    for (const auto& [object, what] : context.state.history.objects()) kept += what.family == id ? 1 : 0;
    context.text += fmt::format(
        "{} is no longer tracked{}\n", context.state.family_name(id),
        kept == 0 ? std::string() : fmt::format(": the history of {} is kept", plural(kept, "object")));
  }
}

void run_start(CommandContext& context) {
  if (context.state.recording) fail("already recording: refhist stop pauses it");
  if (context.port.process().state == ProcessState::running)
    fail("the program is running: interrupt it first");
  context.tracker.resume(context.port);
  context.text =
      fmt::format("recording again: {} armed\n", plural(context.state.sites.armed_count(), "site"));
}

void run_stop(CommandContext& context) {
  if (!context.state.recording) fail("not recording: refhist start resumes it");
  if (context.port.process().state == ProcessState::running)
    fail("the program is running: interrupt it first");
  context.tracker.pause(context.port);
  context.text = "recording is off: refhist start resumes it\n";
}

void run_reset(CommandContext& context) {
  const std::size_t events = context.state.history.event_count();
  context.tracker.forget_history();
  context.text = fmt::format("forgot {}\n", plural(events, "event"));
}

}  // namespace refhist
