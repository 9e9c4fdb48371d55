#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"

namespace refhist {

namespace {

const OptionSpec kJson{"--json", "", "print JSON (schema refhist/1) instead of text"};

const OptionSpec kAfter{"--after", "FN",
                        "check when this function returns instead, by what happened inside it"};

std::vector<OptionSpec> rule_options(const std::vector<OptionSpec>& more) {
  std::vector<OptionSpec> options{
      {"--family", "GLOB", "only objects of these families; may be repeated"},
      {"--object", "ADDR|EXPR", "only the object at this address"},
  };
  options.insert(options.end(), more.begin(), more.end());
  options.push_back(kJson);
  return options;
}

std::vector<OptionSpec> check_options(std::vector<OptionSpec> more) {
  std::vector<OptionSpec> options{
      {"--fail-on", "LIST", "comma-separated verdicts that make the check fail, or none"},
      {"--family", "GLOB", "only these families"},
      {"--reachable", "", "count reachable objects as leaks, too"},
      {"--suppressions", "FILE", "lines VERDICT:PATTERN, as in LeakSanitizer: findings not to report"},
      {"--baseline", "FILE", "file of accepted findings: only new ones fail the check"},
      {"--update-baseline", "", "accept the current findings: write them to the baseline"},
  };
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

const char* const kRuleUsage = "[list | delete N | disable N | enable N] [OPTIONS]";

std::vector<Command> track_commands() {
  return {
      {"track",
       "auto | FAMILY... | --get FN --put FN [OPTIONS] | --probes FILE.toml",
       "track the reference counts of a family",
       "auto: all shipped families, and what discover finds outside the system's libraries. FAMILY is a\n"
       "shipped family (json_object), a group of them (glib) or a glob. Functions may be C names, C++\n"
       "names with or without parameters, or globs. Works before run, at a stop, or after attaching.\n"
       "slab:NAME,NAME in place of a FAMILY: these slab caches of a Linux kernel.",
       {{"--probes", "FILE", "families from a TOML file"},
        {"--name", "NAME", "name of the family that these functions form (default: their common prefix)"},
        {"--get", "FN", "takes a reference"},
        {"--try-get", "FN", "takes a reference unless it fails (returns 0)"},
        {"--put", "FN", "gives a reference back"},
        {"--init", "FN", "creates an object"},
        {"--alloc", "FN", "allocates the memory of an object"},
        {"--free", "FN", "frees the memory of an object"},
        {"--object", "ARG",
         "which argument of get, put and free is the object: 1 to 6, *1 to *6 (a pointer to it), or return "
         "(default 1)"},
        {"--count", "MEMBER",
         "path of the counter member, such as refs.counter (default: found in the code of a get and a put)"},
        {"--type", "TYPE", "type that has the member (default: the argument's)"},
        {"--count-offset", "N", "offset of the counter in bytes, where there is no debug information"},
        {"--count-size", "N", "size of the counter in bytes (default 4)"},
        {"--born", "N", "references of a new object (default: what its init stores at the counter, else 1)"},
        {"--stacks", "full|none", "none: record counts but no stacks"},
        {"--keep", "all|live|suspect", "which objects keep a full history (see refhist show keep)"},
        {"--memory", "SIZE", "memory limit of the history (see refhist show memory)"},
        {"--exclude", "GLOB", "ignore calls made by this function or module; may be repeated"},
        {"--backend", "auto|breakpoint",
         "auto (default): families tracked from now on are recorded inside the program where that is "
         "possible"}},
       run_track},
      {"untrack",
       "FAMILY... | --all",
       "stop tracking a family; what was recorded is kept",
       "FAMILY is the name of a tracked family, a shipped group or a glob. Its breakpoints are removed and "
       "its name\n"
       "can be used again. Objects that are live then are never reported as leaked: their fate is unknown.",
       {{"--all", "", "every tracked family"}},
       run_untrack},
      {"discover",
       "[PATTERN]",
       "find reference-counted types in the loaded modules",
       "Prints them as families in TOML, ready for track --probes.",
       {{"--save", "FILE", "write them to the file"}, {"--track", "", "track them at once"}, kJson},
       run_discover},
      {"status",
       "",
       "families, sites, rules, events, lost events, memory",
       "",
       {{"--sites", "", "every site, including those not armed, with the reason"}, kJson},
       run_status},
      {"start", "", "resume recording after stop", "", {}, run_start},
      {"stop", "", "remove refhist's breakpoints and record nothing until start", "", {}, run_stop},
      {"reset", "", "forget every object and event; tracking continues", "", {}, run_reset},
  };
}

std::vector<Command> report_commands() {
  return {
      {"history",
       "ADDR|EXPR",
       "the full history of the object at this address (the word history may be omitted)",
       "Accepts any pointer into the object, a register ($rdi) or an expression of the program's language.",
       {{"--stacks", "[full]", "the stack of every event; full: including frames that the family folds"},
        {"--generation", "N", "the Nth object that lived at this address"},
        {"--all", "", "every object that lived at this address"},
        {"--at", "N", "the object as it was right after event #N"},
        {"--references", "",
         "each reference: where it was taken and where it was given back, as far as can be determined"},
        {"--events", "N|all",
         "list at most N events, the first and the last; those in between are counted by place (default "
         "10000)"},
        kJson},
       run_history},
      {"objects",
       "",
       "live objects",
       "",
       {{"--family", "GLOB", "only these families"}, {"--all", "", "include dead objects"}, kJson},
       run_objects},
      {"leaks",
       "",
       "outstanding references, grouped by where the object was born, with the suspect put",
       "Objects that the program can still reach are counted, but not reported as leaks.",
       {{"--family", "GLOB", "only these families"},
        {"--reachable", "", "list reachable objects as well"},
        {"--stacks", "[full]",
         "the stack of every reference that may be the leaked one; full: including frames that the family "
         "folds"},
        {"--suppressions", "FILE", "lines VERDICT:PATTERN, as in LeakSanitizer: leaks not to list"},
        kJson},
       run_leaks},
      {"explain",
       "[ADDR|EXPR|FINGERPRINT]",
       "run the program again, and show how a reference was lost, or which put had none to give back",
       "Runs the program again, up to twelve times, in a separate debugger; this session is not touched.\n"
       "Of a leak, the pointer to the object is followed through functions and memory to the line that\n"
       "overwrites or drops it. Of an object that was put too often, each reference is matched with its\n"
       "put: what is left is a pointer that was stored without a reference, or an extra put. That line\n"
       "is a confirmed suspect from then on. Without an argument: objects that were put too often, and\n"
       "the largest leaks. The program must behave the same in each run.",
       {{"--timeout", "S", "give up a run after S seconds (default 120)"}, kJson},
       run_explain},
      {"snapshot",
       "[NAME]",
       "mark this point in the history, for diff",
       "",
       {{"--list", "", "list the snapshots"}, kJson},
       run_snapshot},
      {"diff",
       "[FROM [TO]]",
       "objects that are live now and were not when the snapshot was taken, by birthplace",
       "FROM and TO are snapshots (default: the last one, and now). With --repeat: what has grown in each of "
       "M steps\n"
       "from one snapshot to the next, skipping the first N.",
       {{"--settle", "N", "snapshots to skip while the program warms up (default 0)"},
        {"--repeat", "M", "number of steps, each of which must show growth"},
        {"--family", "GLOB", "only these families"},
        kJson},
       run_diff},
      {"balance",
       "FAMILY|ADDR|EXPR",
       "where references are taken and given back, as a call tree without its balanced parts",
       "For a family: its live objects.",
       {{"--all", "", "include dead objects"}, kJson},
       run_balance},
      {"owners",
       "ADDR|EXPR",
       "every word of the program's memory that points at the object or into it",
       "",
       {kJson},
       run_owners},
      {"usage",
       "",
       "objects and bytes by birthplace: live, at the peak, over time",
       "",
       {{"--family", "GLOB", "only these families"}, {"--top", "N", "show N places (default 20)"}, kJson},
       run_usage},
      {"watch",
       "[ADDR|EXPR]",
       "record every instruction that changes an object's counter, with or without a probe",
       "Uses a hardware watchpoint on the counter; up to four objects at a time. Changes made without a "
       "probe are added to\n"
       "the object's history. Without an object: lists what is watched.",
       {{"--delete", "", "stop watching it; without an object: stop watching all"}},
       run_watch},
      {"save",
       "FILE",
       "write the history to a file for refhist open, with its names, lines and findings",
       "One SQLite file: docs/file-format.md. An existing file is replaced once the new one is complete.",
       {},
       run_save},
      {"open",
       "FILE",
       "read a saved history: the reports then show it, without a process or along with a core file",
       "",
       {{"--discard", "", "even if this discards a history that was not saved"}},
       run_open},
      {"export", "FILE --format FORMAT", "write the history or its findings for other tools",
       "json: the session with its findings. junit, sarif, html: the findings, with check's options. folded: "
       "stacks\n"
       "for flame graphs. sqlite: the file of refhist save, with a row for each event as well.",
       check_options(
           {{"--format", "FORMAT", "json, junit, sarif, html, folded or sqlite"},
            {"--of", "WHAT", "for folded: leaked (default), live (objects by birthplace) or events"},
            {"--source-root", "DIR",
             "source file names are relative to it (default: the current directory); for an opened history, "
             "only sources below it are shown"}}),
       run_export},
      {"check", "",
       "print the findings and, in a script, exit the debugger: 23 findings, 0 clean, 1 the session failed",
       "LIST: leak, over-put, use-after-free, resurrection, free-while-referenced, unobserved-change, "
       "undecidable, held, second-owner;\n"
       "imbalance stands for all but leak, unobserved-change, undecidable and held. Default: leak,imbalance.",
       check_options({{"--stay", "", "print only: the debugger keeps running, as it does at a prompt"},
                      {"--quit", "", "exit the debugger even at a prompt"},
                      kJson}),
       run_check},
  };
}

std::vector<Command> rule_commands() {
  return {
      {"break-on-leak", kRuleUsage, "stop just before the process ends if objects are leaked",
       "With --after FN: stop when FN returns and objects born inside it are still live.",
       rule_options(
           {kAfter,
            {"--reachable", "", "objects that are still reachable count as leaked"},
            {"--raw-exit", "",
             "also stop before an exit system call that bypasses _exit (GDB: a catchpoint; not in LLDB)"}}),
       run_break_on_leak},
      {"break-on-imbalance", kRuleUsage,
       "stop before a put below zero, a get or put on a dead object, a free while referenced",
       "With --after FN: stop when FN returns and its gets and puts do not add up to --expect (default 0).",
       rule_options({kAfter, {"--expect", "N", "with --after: the expected net change (default 0)"}}),
       run_break_on_imbalance},
      {"break-on-put-to-zero", kRuleUsage, "stop before the put that takes an object's count to zero", "",
       rule_options({}), run_break_on_put_to_zero},
      {"break-on-count", kRuleUsage, "stop before a get that takes an object above N references", "",
       rule_options({{"--above", "N", "highest count that an object may have"}}), run_break_on_count},
      {"break-on-event", "[list | delete N | disable N | enable N | #NUMBER] [OPTIONS]",
       "stop at one event of an object: run again up to a point in its history",
       "#NUMBER is an event number from a history: the rule stops at the same event of the object at its "
       "address.",
       rule_options(
           {{"--number", "N", "which of the object's events: 1 is the first line of its history"},
            {"--generation", "N", "which of the objects at this address, counted from 1 (default: any)"}}),
       run_break_on_event},
      {"follow",
       "[list | delete N | disable N | enable N | #NUMBER] [OPTIONS]",
       "in the next run, list the lines that one call executes: from an event of an object until it returns",
       "#NUMBER is an event number from a history: the next run follows the function that made that get or "
       "put.\n"
       "The program does not stop, but may run much slower. refhist explain chooses the events by itself.",
       {{"--family", "GLOB", "only objects of these families; may be repeated"},
        {"--object", "ADDR|EXPR", "the object at this address"},
        {"--number", "N", "which of the object's events: 1 is the first line of its history"},
        {"--generation", "N", "which of the objects at this address, counted from 1 (default: any)"},
        {"--in", "FUNCTION", "another function on the event's stack"},
        {"--pointer", "", "continue after it returns: wherever the pointer goes, until nothing holds it"},
        {"--lost", "", "follow every pointer to the object, until one of its references has none left"},
        {"--holders", "", "follow nothing: list what holds a pointer to the object at the event"},
        {"--stored", "ADDR", "from the event on, wait until a pointer to the object is stored at ADDR"},
        {"--through", "FIRST-END",
         "with --lost: a heap block that holds the pointer; its own are followed (repeatable)"},
        {"--sum", "HEX", "only if the history up to the event has this checksum (for refhist explain)"},
        {"--save", "FILE", "write the lines to the file, as JSON"},
        kJson},
       run_follow},
      {"set", "NAME VALUE", "change a setting (refhist show lists them)", "", {}, run_set},
      {"show", "[NAME]", "the settings and what they do", "", {}, run_show},
      {"help", "[COMMAND]", "what a command does", "", {}, run_help},
  };
}

std::vector<Command> make_table() {
  std::vector<Command> table = track_commands();
  for (Command& command : report_commands()) table.push_back(std::move(command));
  for (Command& command : rule_commands()) table.push_back(std::move(command));
  return table;
}

}  // namespace

const std::vector<Command>& command_table() {
  static const std::vector<Command> table = make_table();
  return table;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const Command& command : command_table()) names.push_back(command.verb);
  return names;
}

const Command* find_command(std::string_view verb) {
  const auto& table = command_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Command& command) { return command.verb == verb; });
  return found == table.end() ? nullptr : &*found;
}

const Command* find_by_prefix(std::string_view prefix) {
  const Command* found = nullptr;
  for (const Command& command : command_table()) {
    if (prefix.empty() || command.verb.rfind(prefix, 0) != 0) continue;
    if (found != nullptr) return nullptr;
    found = &command;
  }
  return found;
}

std::string help_text(const Command& command) {
  std::string text = fmt::format("refhist {} {}\n  {}\n", command.verb, command.usage, command.summary);
  for (const std::string& line : split(command.details, '\n')) {
    if (!line.empty()) text += fmt::format("  {}\n", line);
  }
  for (const OptionSpec& option : command.options) {
    const std::string left = option.value.empty() ? option.name : option.name + " " + option.value;
    text += fmt::format("    {:<24} {}\n", left, option.help);
  }
  return text;
}

std::string help_overview() {
  std::string text = "refhist ADDR|EXPR\n  the full history of the object at this address\n";
  for (const Command& command : command_table()) {
    text += fmt::format("refhist {:<22} {}\n", command.verb, command.summary);
  }
  return text + "refhist help COMMAND shows more.\n";
}

void run_help(CommandContext& context) {
  context.arguments.expect_words(1, "help");
  if (context.arguments.words().empty()) {
    context.text = help_overview();
    return;
  }
  const std::string& verb = context.arguments.words().front();
  const Command* command = find_command(verb);
  if (command == nullptr) fail("no command {}{}", verb, suggestion(verb, verb_names()));
  context.text = help_text(*command);
}

}  // namespace refhist
