// The settings of a session, one table for `refhist set`, `refhist show` and GDB's `set refhist …`.
#include <fmt/core.h>

#include <array>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "base/user_path.h"
#include "commands/command.h"

namespace refhist {

namespace {

struct Setting {
  const char* name;
  std::array<const char*, 2> values;  ///< a choice of two words; any word where the second is in capitals
  const char* help;
  std::string (*get)(const SessionState& state);
  void (*set)(SessionState& state, const std::string& value);
};

const std::array<Setting, 6>& settings() {
  static const std::array<Setting, 6> table{{
      {"allocators",
       {"auto", "off"},
       "auto: the first family that is recorded inside the program brings malloc and operator new along, "
       "there "
       "and never by breakpoints; off: allocators are followed when they are tracked by name",
       [](const SessionState& state) {
         return std::string(state.recorder.options().allocators ? "auto" : "off");
       },
       [](SessionState& state, const std::string& value) {
         state.recorder.options().allocators = value == "auto";
       }},
      {"autosave",
       {"off", "FILE"},
       "FILE: the history is saved there when the process ends or crashes and when the debugger ends; %p in "
       "it "
       "is the process's number",
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
      {"keep-history",
       {"off", "on"},
       "on: a new run goes on with the history of the one before; off: it begins anew",
       [](const SessionState& state) { return std::string(state.keep_history ? "on" : "off"); },
       [](SessionState& state, const std::string& value) { state.keep_history = value == "on"; }},
      {"progress",
       {"seldom", "every-step"},
       "every-step: long work tells each of its steps; seldom: one every two seconds",
       [](const SessionState& state) { return std::string(state.tell_every_step ? "every-step" : "seldom"); },
       [](SessionState& state, const std::string& value) { state.tell_every_step = value == "every-step"; }},
      {"stacks",
       {"full", "none"},
       "full: every event has its whole stack; none: events are counted without",
       [](const SessionState& state) {
         return std::string(state.recorder.options().stacks ? "full" : "none");
       },
       [](SessionState& state, const std::string& value) {
         state.recorder.options().stacks = value == "full";
       }},
  }};
  return table;
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

void run_set(CommandContext& context) {
  context.arguments.expect_words(2, "set");
  const auto& words = context.arguments.words();
  if (words.empty()) fail("set what? refhist show lists the settings");
  const Setting& setting = find_setting(words[0]);
  const std::string value = words.size() > 1 ? words[1] : std::string();
  const bool any_word = std::isupper(static_cast<unsigned char>(setting.values[1][0])) != 0;
  const bool known = any_word ? !value.empty() : value == setting.values[0] || value == setting.values[1];
  if (!known) {
    fail("{} is {} or {}, not {}", setting.name, setting.values[0], setting.values[1],
         value.empty() ? "empty" : value);
  }
  setting.set(context.state, value);
}

void run_show(CommandContext& context) {
  context.arguments.expect_words(1, "show");
  const auto& words = context.arguments.words();
  for (const Setting& setting : settings()) {
    if (!words.empty() && find_setting(words[0]).name != setting.name) continue;
    context.text += fmt::format("{} {} ({} or {}): {}\n", setting.name, setting.get(context.state),
                                setting.values[0], setting.values[1], setting.help);
  }
}

}  // namespace refhist
