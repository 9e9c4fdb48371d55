// One command of the table that both debuggers show: its words, its options, its help and what it does.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "port/debugger_port.h"
#include "reports/findings.h"
#include "session/counter_watches.h"
#include "session/session_state.h"
#include "session/tracker.h"

namespace refhist {

struct OptionSpec {
  std::string name;   ///< "--family"
  std::string value;  ///< placeholder ("GLOB"); empty for a switch; "[full]": this word or none
  std::string help;
};

/// What the user typed after the verb.
class Arguments {
 public:
  /// Throws Error for an option that is not in `options` (with the nearest), or one without its value.
  /// Words before "--" may be options; `negative` numbers and expressions stay words.
  Arguments(const std::vector<std::string>& words, const std::vector<OptionSpec>& options,
            const std::string& verb);

  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[nodiscard]] bool has(const std::string& option) const { return options_.contains(option); }
  [[nodiscard]] std::vector<std::string> all(const std::string& option) const;
  /// The last value given; `fallback` when none was.
  [[nodiscard]] std::string value(const std::string& option, const std::string& fallback = {}) const;
  /// A whole number. Throws Error.
  [[nodiscard]] std::int64_t number(const std::string& option, std::int64_t fallback) const;
  /// Throws Error when words are left over beyond `most`.
  void expect_words(std::size_t most, const std::string& verb) const;

 private:
  std::vector<std::string> words_;
  std::map<std::string, std::vector<std::string>> options_;
};

/// What a handler works with.
struct CommandContext {
  SessionState& state;
  Tracker& tracker;
  DebuggerPort& port;
  const Arguments& arguments;
  CounterWatches& watches;
  std::string text;  ///< output
  int quit_status = -1;
};

struct Command {
  std::string verb;
  std::string usage;    ///< what follows the verb
  std::string summary;  ///< one line
  std::string details;  ///< more lines; may be empty
  std::vector<OptionSpec> options;
  std::function<void(CommandContext&)> run;  ///< throws Error
};

const std::vector<Command>& command_table();
std::vector<std::string> verb_names();
const Command* find_command(std::string_view verb);
/// The one verb that begins so; null when there is none, or several.
const Command* find_by_prefix(std::string_view prefix);
std::string help_text(const Command& command);
std::string help_overview();

// Handlers, by topic.
void run_track(CommandContext& context);
void run_untrack(CommandContext& context);
void run_discover(CommandContext& context);
void run_status(CommandContext& context);
void run_start(CommandContext& context);
void run_stop(CommandContext& context);
void run_reset(CommandContext& context);
void run_history(CommandContext& context);
void run_objects(CommandContext& context);
void run_leaks(CommandContext& context);
void run_check(CommandContext& context);
void run_snapshot(CommandContext& context);
void run_diff(CommandContext& context);
void run_balance(CommandContext& context);
void run_owners(CommandContext& context);
void run_usage(CommandContext& context);
void run_watch(CommandContext& context);
void run_save(CommandContext& context);
void run_open(CommandContext& context);
void run_export(CommandContext& context);
void run_break_on_leak(CommandContext& context);
void run_break_on_imbalance(CommandContext& context);
void run_break_on_put_to_zero(CommandContext& context);
void run_break_on_count(CommandContext& context);
void run_break_on_event(CommandContext& context);
void run_follow(CommandContext& context);
void run_explain(CommandContext& context);
/// "tracking conn: 3 sites armed", and what else there is to say of the family.
std::string tracked_text(const CommandContext& context, const Tracker::Tracked& tracked);
/// Throws Error when there is no such setting, or it cannot have that value.
void apply_setting(SessionState& state, const std::string& name, const std::string& value);
/// Words for `refhist set` that have another session record the same.
std::vector<std::string> recording_settings(const SessionState& state);
/// Words that may follow these behind `refhist set`: the names of settings, or the values of one.
std::vector<std::string> setting_words(const std::vector<std::string>& before);
void run_set(CommandContext& context);
void run_show(CommandContext& context);
void run_help(CommandContext& context);

/// A number, or the value of an expression. Throws Error.
Address address_named(CommandContext& context, const std::string& expression);
/// The objects that the words of the command mean: an address, or an expression. Throws Error.
std::vector<ObjectId> objects_named(CommandContext& context);

/// --family and --reachable.
FindingFilter finding_filter(const Arguments& arguments);

/// Writes the history into the file, with a look at what the program can still reach if it is stopped.
/// Returns one line that says so. Throws Error.
std::string save_history(SessionState& state, DebuggerPort& port, const std::string& path);

}  // namespace refhist
