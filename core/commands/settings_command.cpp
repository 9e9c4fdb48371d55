// The settings of a session, one table for `refhist set`, `refhist show` and GDB's `set refhist …`.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/error.h"
#include "base/quarantine_size.h"
#include "base/text.h"
#include "base/user_path.h"
#include "commands/command.h"
#include "reports/fold_notes.h"
#include "symbols/index_cache.h"

namespace refhist {

namespace {

struct Setting {
  const char* name;
  std::vector<std::string> values;  ///< a choice of words; any word where the last is in capitals
  const char* help;
  std::string (*get)(const SessionState& state);
  void (*set)(SessionState& state, const std::string& value);
};

constexpr std::uint64_t kLeastMemory = 1U << 20U;

std::string keep_name(Keep keep) { return kKeepNames[static_cast<std::size_t>(keep)]; }

Keep keep_from_name(const std::string& name) {
  const auto found = std::find(kKeepNames.begin(), kKeepNames.end(), name);
  return static_cast<Keep>(found - kKeepNames.begin());
}

std::uint64_t memory_from_text(const std::string& text) {
  if (text == "off") return 0;
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes < kLeastMemory)
    fail("memory must be off or a size of 1M or more (512M, 2G), not {}", text);
  return *bytes;
}

QuarantineSize quarantine_from_text(const std::string& text) {
  const auto size = QuarantineSize::parse(text);
  if (!size) fail("quarantine must be {}, not {}", quarantine_words(), text);
  return *size;
}

const std::array<Setting, 11>& settings() {
  static const std::array<Setting, 11> table{{
      {"allocators",
       {"auto", "off"},
       "auto: once a family is recorded inside the program, malloc and operator new are, too, but never by "
       "breakpoints; off: allocators are recorded only when tracked by name",
       [](const SessionState& state) {
         return std::string(state.recorder.options().allocators ? "auto" : "off");
       },
       [](SessionState& state, const std::string& value) {
         state.recorder.options().allocators = value == "auto";
       }},
      {"at-crash",
       {"save", "scan"},
       "save: when the program stops at a fatal signal, autosave saves the history; scan: refhist checks "
       "what "
       "is reachable then, and autosave waits for the end of the process",
       [](const SessionState& state) { return std::string(state.scan_at_crash ? "scan" : "save"); },
       [](SessionState& state, const std::string& value) { state.scan_at_crash = value == "scan"; }},
      {"autosave",
       {"off", "FILE"},
       "FILE: the history is saved there when the process ends or crashes and when the debugger exits; %p in "
       "it is the process ID",
       [](const SessionState& state) { return state.autosave.empty() ? std::string("off") : state.autosave; },
       [](SessionState& state, const std::string& value) {
         state.autosave = value == "off" ? std::string() : user_path(value);
       }},
      {"backend",
       {"breakpoint", "auto"},
       "auto: families tracked from now on are recorded inside the program where that is possible; "
       "breakpoint: "
       "by breakpoints",
       [](const SessionState& state) {
         return std::string(state.recorder.options().backend == Backend::breakpoint ? "breakpoint" : "auto");
       },
       [](SessionState& state, const std::string& value) {
         state.recorder.options().backend = value == "auto" ? Backend::automatic : Backend::breakpoint;
       }},
      {"index-cache",
       {"off", "on"},
       "on: the index of large debug information is cached for the next session, in $XDG_CACHE_HOME/refhist "
       "or ~/.cache/refhist, 1 GiB at most",
       [](const SessionState&) { return std::string(keeps_indexes() ? "on" : "off"); },
       [](SessionState&, const std::string& value) { keep_indexes(value == "on"); }},
      {"keep",
       {kKeepNames.begin(), kKeepNames.end()},
       "all: every event of every object; live: objects that were released cleanly are summarized by "
       "birthplace once their address is reused; suspect: in addition, early events of objects without "
       "findings are counted and not listed",
       [](const SessionState& state) { return keep_name(state.keep); },
       [](SessionState& state, const std::string& value) { state.keep = keep_from_name(value); }},
      {"keep-history",
       {"off", "on"},
       "on: a new run continues the history of the previous one; off: it starts over",
       [](const SessionState& state) { return std::string(state.keep_history ? "on" : "off"); },
       [](SessionState& state, const std::string& value) { state.keep_history = value == "on"; }},
      {"memory",
       {"off", "SIZE"},
       "SIZE (512M, 2G): memory limit of the history in the debugger; the objects released cleanly longest "
       "ago are summarized first, and every report says so",
       [](const SessionState& state) {
         return state.memory_limit == 0 ? std::string("off") : bytes_text(state.memory_limit);
       },
       [](SessionState& state, const std::string& value) { state.memory_limit = memory_from_text(value); }},
      {"progress",
       {"seldom", "every-step"},
       "every-step: long operations report each of their steps; seldom: one every two seconds",
       [](const SessionState& state) { return std::string(state.tell_every_step ? "every-step" : "seldom"); },
       [](SessionState& state, const std::string& value) { state.tell_every_step = value == "every-step"; }},
      {"quarantine",
       {"off", "auto", "SIZE"},
       "SIZE (64M at most): that much memory that the program has freed stays unmapped, so that the program "
       "stops at the instruction that uses a dead object, even one that only reads it; each of its blocks "
       "takes a page; auto: the same until it has freed 200,000 blocks, or until that has cost it some "
       "seconds",
       [](const SessionState& state) { return state.recorder.options().quarantine.text(); },
       [](SessionState& state, const std::string& value) {
         state.recorder.options().quarantine = quarantine_from_text(value);
       }},
      {"stacks",
       {"full", "none"},
       "full: every event has its full stack; none: events are recorded without stacks",
       [](const SessionState& state) {
         return std::string(state.recorder.options().stacks ? "full" : "none");
       },
       [](SessionState& state, const std::string& value) {
         state.recorder.options().stacks = value == "full";
         state.agent.forget_cached_calls();
       }},
  }};
  return table;
}

/// The last choice may stand for any word: FILE, SIZE.
bool is_placeholder(const std::string& value) {
  return std::isupper(static_cast<unsigned char>(value[0])) != 0;
}

const Setting& find_setting(const std::string& name) {
  std::vector<std::string> names;
  for (const Setting& setting : settings()) {
    if (name == setting.name) return setting;
    names.emplace_back(setting.name);
  }
  fail("no setting {}{}: {}", name, suggestion(name, names), join(names, ", "));
}

}  // namespace

void apply_setting(SessionState& state, const std::string& name, const std::string& value) {
  const Setting& setting = find_setting(name);
  const bool any_word = is_placeholder(setting.values.back());
  const bool known =
      any_word ? !value.empty()
               : std::find(setting.values.begin(), setting.values.end(), value) != setting.values.end();
  if (!known)
    fail("{} must be {}, not {}", setting.name, join(setting.values, " or "),
         value.empty() ? "empty" : value);
  setting.set(state, value);
}

std::vector<std::string> setting_words(const std::vector<std::string>& before) {
  std::vector<std::string> words;
  for (const Setting& setting : settings()) {
    if (before.empty()) words.emplace_back(setting.name);
    if (before.size() == 1 && before[0] == setting.name) words = setting.values;
  }
  std::erase_if(words, is_placeholder);
  return words;
}

std::vector<std::string> recording_settings(const SessionState& state) {
  std::vector<std::string> words;
  for (const char* name : {"allocators", "backend", "quarantine", "stacks"})
    words.push_back(fmt::format("{} {}", name, find_setting(name).get(state)));
  return words;
}

namespace {
void prepare_quarantine(CommandContext& context) {
  const QuarantineSize& size = context.state.recorder.options().quarantine;
  context.state.quarantine.take_all_blocks(size.takes_all(), context.port);
  if (size.bytes != 0 && context.state.alive)
    context.text += "the program runs already: only blocks that it gets from now on come into quarantine\n";
}
}  // namespace

void run_set(CommandContext& context) {
  context.arguments.expect_words(2, "set");
  const auto& words = context.arguments.words();
  if (words.empty()) fail("usage: refhist set NAME VALUE; refhist show lists the settings");
  apply_setting(context.state, words[0], words.size() > 1 ? words[1] : std::string());
  if (words[0] == "quarantine") prepare_quarantine(context);
}

void run_show(CommandContext& context) {
  context.arguments.expect_words(1, "show");
  const auto& words = context.arguments.words();
  for (const Setting& setting : settings()) {
    if (!words.empty() && find_setting(words[0]).name != setting.name) continue;
    context.text += fmt::format("{} {} ({}): {}\n", setting.name, setting.get(context.state),
                                join(setting.values, " or "), setting.help);
  }
}

}  // namespace refhist
